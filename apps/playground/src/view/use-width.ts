/** The width of an element in pixels, so that drawings have the size of the screen and texts in them stay readable. */
import type { RefObject } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

export function useWidth<E extends HTMLElement>(
  guess: number,
): readonly [RefObject<E | null>, number] {
  const element = useRef<E>(null);
  const [width, setWidth] = useState(guess);
  // Before the first drawing is shown: a guess that is too wide would make the page wider than a phone.
  useLayoutEffect(() => {
    if (element.current === null) return;
    const take = (now: number) => {
      if (now >= 1) setWidth(Math.floor(now));
    };
    take(element.current.getBoundingClientRect().width);
    const observer = new ResizeObserver(([entry]) => take(entry?.contentRect.width ?? 0));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, []);
  return [element, width];
}
