/** The address of every page of `aWorld`. */
export const everyPage = [
  '/',
  '/leads',
  '/leads/find',
  '/leads?lead=x',
  '/leads/main/48205',
  '/deliveries',
  '/deliveries/reasons',
  '/sinks',
  '/sinks/crm',
  '/replay?sink=crm&since=2d',
  '/polls',
  '/alerts',
  '/log',
  '/rejected',
  '/audit',
  '/playground?source=main&lead=48205',
  '/configuration',
  '/runbook',
  '/runbook/sink-held',
  '/login',
] as const;

/** States of pages that are not their first: sorted, filtered, without rows, and errors. */
export const everyState = [
  '/leads?order=oldest',
  '/leads?listing=gone&order=oldest',
  '/leads?source=main&service=nothing',
  '/deliveries?state=dead&order=oldest',
  '/deliveries?state=undelivered',
  '/deliveries?state=lost',
  '/polls?source=main&order=oldest',
  '/rejected?state=any&order=oldest',
  '/rejected?state=gone',
  '/log?level=error',
  '/audit?who=bob',
  '/sinks/warehouse?period=7d',
  '/sinks/old-crm',
  '/sinks/nobody',
  '/runbook/nothing',
  '/sinks/crm?period=2h',
] as const;

/** What a page sends before it is confirmed, or to show what is hidden. */
export const everyQuestion: readonly (readonly [path: string, fields: Record<string, string>])[] = [
  ['/sinks/crm/pause', {}],
  ['/sinks/crm/resume', {}],
  ['/sinks/crm/test', {}],
  ['/sinks/crm/retry', {}],
  ['/sinks/crm/cancel-replay', {}],
  ['/deliveries/retry?sink=crm', { all: 'yes' }],
  ['/deliveries/discard?sink=crm', { all: 'yes' }],
  ['/leads/main/48196/replay?sink=crm', {}],
  ['/leads/main/48196/retry?delivery=x', {}],
  ['/replay', { sink: 'crm', which: 'all' }],
  ['/replay', {}],
  ['/configuration/reload', {}],
  ['/rejected/3/data', {}],
  ['/rejected/9/data', {}],
];

/** Sends a form, as a page without scripts does. Runs in the browser. */
export function post([path, fields]: (typeof everyQuestion)[number]): void {
  const form = document.createElement('form');
  Object.assign(form, { method: 'post', action: path });
  for (const [name, value] of Object.entries(fields))
    form.append(Object.assign(document.createElement('input'), { type: 'hidden', name, value }));
  document.body.append(form);
  HTMLFormElement.prototype.submit.call(form);
}
