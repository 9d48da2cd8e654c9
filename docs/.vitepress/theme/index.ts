/**
 * The default theme without fonts from files, with colours of drawings.
 */
import Theme from 'vitepress/theme-without-fonts';
import './style.js';

export default Theme;
