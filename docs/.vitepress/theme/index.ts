/**
 * The default theme without fonts from files, with colours of drawings.
 */
import Theme from 'vitepress/theme-without-fonts';
// biome-ignore lint/correctness/useImportExtensions: a style sheet.
import './style.css';

export default Theme;
