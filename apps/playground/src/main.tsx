/** Entry of the page. */
import { render } from 'preact';
import { App } from './app.js';
import { PRESETS } from './schemes/presets.js';
import { parseLink } from './share-link.js';

const root = document.querySelector('#playground') as HTMLElement;
root.replaceChildren();
render(<App link={parseLink(location.search, [...PRESETS.keys()])} />, root);
