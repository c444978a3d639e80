import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { RequestError } from '../contract/request-error.ts';
import { may } from '../contract/rights.ts';
import { requestErrorFor } from '../http/send-error.ts';
import { addAlerts } from './alerts.ts';
import { addAudit } from './audit/audit.ts';
import { addConfiguration } from './configuration.ts';
import { addDeliveries } from './deliveries/deliveries.ts';
import { addFailureReasons } from './deliveries/failure-reasons.ts';
import { addReplay } from './deliveries/replay.ts';
import { addFindLeads } from './leads/find-leads.ts';
import { addLead } from './leads/lead.ts';
import { addLeads } from './leads/leads.ts';
import { addPlayground } from './leads/playground.ts';
import { addLog } from './log.ts';
import { type LoginPage, type LoginWays, loginPage, type OnwardPage, onwardPage } from './login.ts';
import { addOverview } from './overview/overview.ts';
import { addRunExport } from './overview/run-export.ts';
import { serveAssets } from './parts/assets.ts';
import { failureFor } from './parts/failure-page.ts';
import { publicFailurePage } from './parts/public-failure-page.ts';
import { type PageParts, Site } from './parts/site.ts';
import { addRunbook } from './runbook.ts';
import { addSink } from './sinks/sink.ts';
import { addSinkActions } from './sinks/sink-actions.ts';
import { addSinks } from './sinks/sinks.ts';
import { addPollNow } from './sources/poll-now.ts';
import { addPolls } from './sources/polls.ts';
import { addRejected } from './sources/rejected.ts';

/** Lets a page load files from, and send forms to, this server only. Forbids inline scripts and styles. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const FORM = 'application/x-www-form-urlencoded';
/** Maximum size of a form, in bytes. Enough for 3,000 delivery ids. */
const MAX_FORM_BYTES = 256 * 1024;

const addPages = [
  addOverview,
  addRunExport,
  addLeads,
  addFindLeads,
  addLead,
  addDeliveries,
  addFailureReasons,
  addSinks,
  addSink,
  addSinkActions,
  addReplay,
  addPolls,
  addPollNow,
  addRejected,
  addAlerts,
  addLog,
  addPlayground,
  addConfiguration,
  addAudit,
  addRunbook,
] as const;

/** The pages that need no credential. The login uses them. */
export interface RegisteredPages {
  /** Sends the login page. Its assets, under `/assets/`, need no credential either. */
  sendLogin(reply: FastifyReply, page: LoginPage): FastifyReply;
  /** Sends a page that opens another address automatically. */
  sendOnward(reply: FastifyReply, page: OnwardPage): FastifyReply;
}

/**
 * Adds the pages and their assets to a server. The gate of the server (`addGate`) authenticates the client and checks the origin of a POST
 * before a page handles the request. `loginWays` returns the ways to log in, which a reload can change.
 */
export function registerPages(
  app: FastifyInstance,
  parts: PageParts,
  loginWays: () => LoginWays = () => ({ token: true }),
): RegisteredPages {
  const assetAddress = serveAssets(app);
  const site = new Site(parts, assetAddress);
  app.register(async (scope) => {
    readForms(scope);
    scope.addHook('onSend', async (_request, reply) => void protect(reply));
    scope.setErrorHandler((error, request, reply) => {
      return site.fail(request, reply, failureFor(requestErrorFor(error, parts.onFault)));
    });
    for (const addPage of addPages) addPage(scope, site);
  });
  app.decorate('errorPage', async (request: FastifyRequest, reply: FastifyReply, error: RequestError) => {
    protect(reply);
    const failure = failureFor(error);
    // Every other page shows the state of leadsync, which an anonymous client must not see.
    if (may('overview')) return site.fail(request, reply, failure);
    const document = publicFailurePage(assetAddress, failure, error.code === 'no-role');
    return site.send(reply, document, failure.status);
  });
  const send = (reply: FastifyReply, document: string) =>
    protect(reply).type('text/html; charset=utf-8').send(document);
  return {
    sendLogin: (reply, page) => {
      const failure = page.failure && site.rewriteCommands(page.failure);
      return send(reply, loginPage(assetAddress, { ...page, failure }, loginWays()));
    },
    sendOnward: (reply, page) => send(reply, onwardPage(assetAddress, page)),
  };
}

/** Parses forms. A form repeats a field once for each selected row, and can be larger than the body of an API request. */
function readForms(scope: FastifyInstance): void {
  if (scope.hasContentTypeParser(FORM)) scope.removeContentTypeParser(FORM);
  scope.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: MAX_FORM_BYTES }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );
}

function protect(reply: FastifyReply): FastifyReply {
  return reply.headers({ 'content-security-policy': POLICY, 'referrer-policy': 'same-origin' });
}
