// Public entry of @lowbit-kv/report: reports as files.
export { renderCsv } from './csv.js';
export { withoutHome } from './home-paths.js';
export { renderMarkdown } from './markdown.js';
export { renderPage } from './page/page.js';
export {
  type AnyReport,
  isComparison,
  type NamedBench,
  type ReportContext,
} from './report-kind.js';
export { checkReportFolder, REPORT_FILES, writeReportFiles } from './write-files.js';
