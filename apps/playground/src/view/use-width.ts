/** The width of an element in pixels, so that drawings have the size of the screen and texts in them stay readable. */
import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';

export function useWidth<E extends HTMLElement>(
  guess: number,
): readonly [RefObject<E | null>, number] {
  const element = useRef<E>(null);
  const [width, setWidth] = useState(guess);
  useEffect(() => {
    if (element.current === null) return;
    const observer = new ResizeObserver(([entry]) => {
      const now = Math.floor(entry?.contentRect.width ?? 0);
      if (now > 0) setWidth(now);
    });
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
