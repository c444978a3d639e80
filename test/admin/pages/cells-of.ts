/** Returns the cells of the row with a key, by the label of their column. */
export function cellsOf(html: string, key: string): Record<string, string> {
  const [row = ''] = new RegExp(`<tr id="${key}".*?</tr>`, 's').exec(html) ?? [];
  const cells = [...row.matchAll(/<td[^>]*data-label="([^"]*)"[^>]*>(.*?)<\/td>/gs)];
  return Object.fromEntries(
    cells.map(([, label = '', content = '']) => [label, content.replaceAll(/<[^>]*>/g, '')]),
  );
}
