/** Parts of a page that several sections use. */
import { html, type Markup } from '../markup.js';
import type { TableCell, TableView } from '../view/view.js';

/** A table that scrolls where it is wider than the screen. `sortable`: the script adds buttons. */
export function table({ caption, head, rows }: TableView, sortable = true): Markup {
  return html`<p class="caption">${caption}</p><div class="scroll" tabindex="0" role="region" aria-label="${caption}"><table${sortable ? html` class="sortable"` : null}>
<thead><tr>${head.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
<tbody>${rows.map((cells) => html`<tr>${cells.map(tableCell)}</tr>\n`)}</tbody>
</table></div>`;
}

function tableCell(cell: TableCell, column: number): Markup {
  const text = typeof cell === 'string' ? cell : cell.text;
  const value =
    typeof cell === 'string'
      ? null
      : html` data-value="${cell.value === null ? '' : +cell.value.toPrecision(4)}"`;
  return column === 0 ? html`<th scope="row"${value}>${text}</th>` : html`<td${value}>${text}</td>`;
}

export function figure(chart: Markup, caption: string): Markup {
  return html`<figure>${chart}<figcaption>${caption}</figcaption></figure>`;
}
