/** The addresses of pages, made in one place: names go in as they are and come out encoded. */

/** Where one lead is shown. */
export function leadAddress(source: string, lead: string): string {
  return `/leads/${encoded(source)}/${encoded(lead)}`;
}

/** Where the leads are shown that a source no longer lists. */
export function goneAddress(source: string): string {
  return withQuery('/leads', { listing: 'gone', source });
}

/** Where a sink stands among the sinks. */
export function sinkAddress(sink: string): string {
  return `/sinks#sink-${encoded(sink)}`;
}

/** Where a form posts to that does something with a sink. */
export function sinkAction(sink: string, action: 'pause' | 'resume' | 'test' | 'retry'): string {
  return `/sinks/${encoded(sink)}/${action}`;
}

/** An address with those parameters that have a value. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const given = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given)}`;
}

/** Half of a character has no address. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}
