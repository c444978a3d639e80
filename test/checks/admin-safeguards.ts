import type { Safeguard } from './safeguard.ts';

/** What pages, API and alerts rest on. */
export const adminSafeguards: readonly Safeguard[] = [
  {
    name: 'a token where other machines reach the pages',
    without: 'whoever reaches the address reads leads and stops deliveries',
    file: 'src/config/reading/config-reader.ts',
    text: 'if (!isLoopback(listen.host)) fault(',
    instead: "if (listen.host === '') fault(",
    tests: ['test/config/faults.test.ts'],
  },
  {
    name: 'the name that was asked for is checked',
    without: 'a page of a stranger reads leads through a name that it lets point to leadsync',
    file: 'src/admin/gate/gate.ts',
    text: 'if (!hasAllowedHost(request, ruleNow()) && !isAsset(request))',
    instead: 'if (!hasAllowedHost(request, ruleNow()) && !request.url)',
    tests: ['test/admin/server.test.ts'],
  },
  {
    name: 'a name of the local network needs a credential',
    without:
      'a page of a stranger acts as the operator through a name that anybody on the network may answer for',
    file: 'src/admin/http/host-rule.ts',
    text: 'if (guarded && (',
    instead: 'if ((',
    tests: ['test/admin/server.test.ts'],
  },
  {
    name: 'what a browser obeys is shown on pages',
    without:
      'a lead turns the direction of the text around it, and hides what it says from whoever reads the page',
    file: 'src/admin/pages/parts/render-document.ts',
    text: "(found.startsWith(' ') ? found : escaped(found))",
    instead: "(escaped('') + found)",
    tests: ['test/admin/pages/hostile.test.ts'],
  },
  {
    name: 'a change is asked for by a page of our own',
    without: 'a page of another origin pauses sinks with the session of whoever is logged in',
    file: 'src/admin/gate/gate.ts',
    text: "if (request.method === 'POST' && !isOwnPage(request))",
    instead: "if (request.method === '' && !isOwnPage(request))",
    tests: ['test/admin/access.test.ts'],
  },
  {
    name: 'wrong tokens are counted',
    without: 'whoever reaches the address tries tokens as fast as they come',
    file: 'src/admin/gate/token-throttle.ts',
    text: 'tried.wrong.size >= MAX_WRONG',
    instead: 'tried.wrong.size > 1e9',
    tests: ['test/admin/strangers.test.ts'],
  },
  {
    name: 'only a trusted proxy says who asks',
    without: 'whoever asks writes any address into the audit log, and is never out of tries',
    file: 'src/admin/http/proxies.ts',
    text: 'return isIP(address) !== 0 && blocks.check(address, familyOf(address));',
    instead: 'return isIP(address) !== 0;',
    tests: ['test/admin/proxies.test.ts'],
  },
  {
    name: 'a lead’s data is masked until somebody asks',
    without: 'whoever passes a screen reads personal data, and nobody knows',
    file: 'src/admin/pages/lead.ts',
    text: 'show(site, request, reply, hiddenContent(pathOf(request)))',
    instead:
      "site.operations.reveal(paramOf(request, 'source'), paramOf(request, 'lead')).then((content) => show(site, request, reply, content ? shownContent(content) : hiddenContent(pathOf(request))))",
    tests: ['test/admin/pages/flows.test.ts'],
  },
  {
    name: 'a reveal is in the audit log before it is given',
    without: 'personal data is shown and nobody can say to whom',
    file: 'src/admin/gate/audit.ts',
    text: "await record('reveal', { source, lead, version });",
    instead: "void record('reveal', { source, lead, version }).catch(() => undefined);",
    tests: ['test/admin/access.test.ts'],
  },
  {
    name: 'who was told of an alert survives a restart',
    without: 'whoever is told is told again at every restart, until nobody looks any more',
    file: 'src/alerts/alert-tracker.ts',
    text: 'this.#entries = new Map(reported.map((entry) => [keyOf(entry), entry]));',
    instead:
      'this.#entries = new Map(reported.slice(reported.length).map((entry) => [keyOf(entry), entry]));',
    tests: ['test/alerts'],
  },
  {
    name: 'an alert does not wait for a time that comes again',
    without: 'after the clock was set back by a day, nobody hears for a day of what goes wrong then',
    file: 'src/alerts/alert-tracker.ts',
    text: 'before && byPresentClock(before, now.getTime())',
    instead: 'before',
    tests: ['test/alerts/alert-tracker.test.ts'],
  },
];
