/** A column that gives way, so that lines stay within a width. */
export interface Elastic {
  readonly column: number;
  /** It keeps so much, whatever the width of the line. */
  readonly leastChars: number;
  readonly lineChars: number;
}

const gap = '  ';

/** Rows in columns, two blanks between them; the first row is the head. */
export function tableText(rows: readonly (readonly string[])[], elastic?: Elastic): string {
  const widths = elastic === undefined ? widthsOf(rows) : withElastic(widthsOf(rows), elastic);
  return rows
    .map((row) =>
      row
        .map((cell, at) => cut(cell, widths[at] ?? 0).padEnd(widths[at] ?? 0))
        .join(gap)
        .trimEnd(),
    )
    .join('\n');
}

function widthsOf(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [at, cell] of row.entries()) widths[at] = Math.max(widths[at] ?? 0, cell.length);
  }
  return widths;
}

function withElastic(
  widths: readonly number[],
  { column, leastChars, lineChars }: Elastic,
): number[] {
  const gaps = gap.length * (widths.length - 1);
  const others = widths.reduce((sum, width, at) => (at === column ? sum : sum + width), gaps);
  const most = Math.max(leastChars, lineChars - others);
  return widths.map((width, at) => (at === column ? Math.min(width, most) : width));
}

function cut(cell: string, maxChars: number): string {
  return cell.length <= maxChars ? cell : `${cell.slice(0, maxChars - 1)}…`;
}
