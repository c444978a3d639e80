import type { Safeguard } from './safeguard.ts';

/** What pages, API and alerts rest on. */
export const adminSafeguards: readonly Safeguard[] = [
  {
    name: 'the admin server needs a token if other machines can reach it',
    without: 'anyone who reaches the address reads leads and stops deliveries',
    file: 'src/config/reading/admin-access.ts',
    text: 'if (!isLoopback(listen.host)) fault(',
    instead: "if (listen.host === '') fault(",
    tests: ['test/config/faults.test.ts'],
  },
  {
    name: 'the admin server checks the Host header',
    without: "a stranger's web page reads leads by pointing its own host name at leadsync (DNS rebinding)",
    file: 'src/admin/gate/gate.ts',
    text: 'if (!hasAllowedHost(request, ruleNow()) && !isAsset(request))',
    instead: 'if (!hasAllowedHost(request, ruleNow()) && !request.url)',
    tests: ['test/admin/server.test.ts'],
  },
  {
    name: 'a local network name needs a credential',
    without:
      "a stranger's web page acts as the operator through a name that any machine on the network may claim",
    file: 'src/admin/http/host-rule.ts',
    text: 'if (guarded && (',
    instead: 'if ((',
    tests: ['test/admin/server.test.ts'],
  },
  {
    name: 'pages show control characters instead of sending them',
    without:
      'a lead reverses the direction of the text around it, and hides its content from the reader of the page',
    file: 'src/admin/pages/parts/render-document.ts',
    text: "(found.startsWith(' ') ? found : escaped(found))",
    instead: "(escaped('') + found)",
    tests: ['test/admin/pages/hostile.test.ts'],
  },
  {
    name: 'the admin server accepts changes only from its own pages',
    without: 'a page of another origin pauses sinks with the session of a logged-in user',
    file: 'src/admin/gate/gate.ts',
    text: "if (request.method === 'POST' && !isOwnPage(request))",
    instead: "if (request.method === '' && !isOwnPage(request))",
    tests: ['test/admin/access.test.ts'],
  },
  {
    name: 'the admin server limits wrong tokens',
    without: 'anyone who reaches the address fills the audit log with guesses, which then drops older lines',
    file: 'src/admin/gate/token-throttle.ts',
    text: 'tried.wrong.size >= MAX_WRONG',
    instead: 'tried.wrong.size > 1e9',
    tests: ['test/admin/strangers.test.ts'],
  },
  {
    name: 'the gate checks the role of a client for each route',
    without:
      'whoever may look at the pages sends leads again, reads personal data and reloads the configuration',
    file: 'src/admin/gate/gate.ts',
    text: 'return rejectByRole(request, reply);',
    instead: 'return undefined;',
    tests: ['test/admin/roles.test.ts'],
  },
  {
    name: 'the admin server believes the name in a header only of a trusted proxy',
    without: 'any client writes the name of an admin into a header, and is one',
    file: 'src/admin/gate/access.ts',
    text: "if (trusted === undefined || !isProxy(socket.remoteAddress ?? '')) return undefined;",
    instead: 'if (trusted === undefined) return undefined;',
    tests: ['test/admin/trusted-header.test.ts'],
  },
  {
    name: 'the admin server accepts the right token from an address that sends wrong ones',
    without: 'a stale client behind the same proxy keeps Prometheus and everyone else out for ever',
    file: 'src/admin/gate/access.ts',
    text: 'bearer === undefined ? undefined : this.#find(bearer);',
    instead:
      'bearer === undefined || this.#throttle.waitSeconds(address) > 0 ? undefined : this.#find(bearer);',
    tests: ['test/admin/strangers.test.ts'],
  },
  {
    name: "the admin server takes the client's address only from a trusted proxy",
    without: 'a client writes any address into the audit log, and never reaches the limit of tries',
    file: 'src/admin/http/proxies.ts',
    text: 'return isIP(address) !== 0 && blocks.check(address, familyOf(address));',
    instead: 'return isIP(address) !== 0;',
    tests: ['test/admin/proxies.test.ts'],
  },
  {
    name: 'pages mask the data of a lead until a user reveals it',
    without: 'anyone who passes a screen reads personal data, and nobody knows',
    file: 'src/admin/pages/lead.ts',
    text: 'show(site, request, reply, {})',
    instead:
      "site.operations.reveal(paramOf(request, 'source'), paramOf(request, 'lead')).then((content) => show(site, request, reply, content ? { content: shownContent(content) } : {}))",
    tests: ['test/admin/pages/flows.test.ts'],
  },
  {
    name: 'the audit log has a reveal before the page shows the data',
    without: 'leadsync shows personal data and cannot say to whom',
    file: 'src/admin/gate/audit.ts',
    text: "await record('reveal', { source, lead, version });",
    instead: "void record('reveal', { source, lead, version }).catch(() => undefined);",
    tests: ['test/admin/access.test.ts'],
  },
  {
    name: 'the audit log has who sees what each sink gets, before the page shows it',
    without: 'leadsync shows personal data in the form of a request, and cannot say to whom',
    file: 'src/admin/gate/audit.ts',
    text: "await record('reveal', { source, lead, as: 'previews' });",
    instead: "void record('reveal', { source, lead, as: 'previews' }).catch(() => undefined);",
    tests: ['test/admin/access.test.ts'],
  },
  {
    name: 'the audit log has who evaluates an expression for a lead, before it is evaluated',
    without: 'a reader sees each text of a lead by an expression, and nobody knows',
    file: 'src/admin/gate/audit.ts',
    text: "if (request.lead) await record('reveal', { ...request.lead, as: 'expression' });",
    instead: '',
    tests: ['test/admin/access.test.ts'],
  },
  {
    name: 'leadsync remembers across restarts which alerts it has sent',
    without: 'every restart sends each alert again, until people ignore them',
    file: 'src/alerts/alert-tracker.ts',
    text: 'this.#entries = new Map(reported.map((entry) => [keyOf(entry), entry]));',
    instead:
      'this.#entries = new Map(reported.slice(reported.length).map((entry) => [keyOf(entry), entry]));',
    tests: ['test/alerts'],
  },
  {
    name: 'the repeat interval of an alert uses the monotonic clock',
    without: 'after the clock was set back by a day, leadsync sends no alert for a day',
    file: 'src/alerts/alert-tracker.ts',
    text: 'before && byPresentClock(before, now.getTime())',
    instead: 'before',
    tests: ['test/alerts/alert-tracker.test.ts'],
  },
];
