/** Builds the addresses of pages, and percent-encodes names. */

/** Returns the address of a lead's page. */
export function leadAddress(source: string, lead: string): string {
  return `/leads/${encoded(source)}/${encoded(lead)}`;
}

/** Returns the address of the playground for expressions, with a lead preselected. */
export function playgroundAddress({
  source,
  lead,
}: {
  readonly source: string;
  readonly lead: string;
}): string {
  return withQuery('/playground', { source, lead });
}

/** Returns the address of the list of leads that a source no longer lists. */
export function goneLeadsAddress(source: string): string {
  return withQuery('/leads', { listing: 'gone', source });
}

/** Returns the address of a sink's page. */
export function sinkAddress(sink: string): string {
  return `/sinks/${encoded(sink)}`;
}

/** Returns the address of the form that replays leads, with some of its fields filled in. */
export function replayAddress(fields: Readonly<Record<string, string | undefined>>): string {
  return withQuery('/replay', fields);
}

/** The page from which the reader starts an action on a sink, and to which the action returns. */
export type ActionOrigin = 'list' | 'page' | 'overview';

/** Returns the address to which the form for an action on a sink posts. */
export function sinkAction(
  sink: string,
  action: 'pause' | 'resume' | 'test' | 'retry' | 'cancel-replay' | 'request',
  from: ActionOrigin = 'list',
): string {
  return withQuery(`/sinks/${encoded(sink)}/${action}`, { from: from === 'list' ? undefined : from });
}

/** Returns the page to which an action on a sink returns. `from` is the query parameter of that name. */
export function originAddress(sink: string, from: string | null): string {
  if (from === 'overview') return '/';
  return from === 'page' ? sinkAddress(sink) : '/sinks';
}

/** Returns the address to which the button that shows the text of a rejected lead posts. */
export function rejectedAction(rejected: number): string {
  return `/rejected/${rejected}/data`;
}

/** Returns the address of the page for a section of the operating manual. `runbook` is the path of the section in the repository, as in a problem. */
export function runbookAddress(runbook: string): string {
  return `/runbook/${encoded(runbook.split('#')[1] ?? '')}`;
}

/** Returns the address of the list of a source's polls that begins with a poll. */
export function pollAddress(source: string, poll: number): string {
  return withQuery('/polls', { source, after: `0.${poll + 1}` });
}

/** Returns the address to which the button that polls a source posts. */
export function pollAction(source: string): string {
  return `/sources/${encoded(source)}/poll`;
}

/** Returns the address to which the button that runs an export or a backup posts. */
export function runAction(what: 'export' | 'backup', name: string): string {
  return `/${what}s/${encoded(name)}/run`;
}

/** Returns an address with those query parameters that have a value. */
export function withQuery(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const present = Object.entries(query).filter((entry): entry is [string, string] => Boolean(entry[1]));
  return present.length === 0 ? path : `${path}?${new URLSearchParams(present)}`;
}

/** Percent-encodes a name. Replaces lone surrogates first, because `encodeURIComponent` throws on them. */
function encoded(name: string): string {
  return encodeURIComponent(name.toWellFormed());
}
