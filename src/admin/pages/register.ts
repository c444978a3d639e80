import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { actor } from '../contract/actor.ts';
import type { RequestError } from '../contract/request-error.ts';
import { requestErrorFor } from '../http/answer.ts';
import { addConfiguration } from './configuration.ts';
import { addDeliveries } from './deliveries.ts';
import { addLead } from './lead.ts';
import { addLeads } from './leads.ts';
import { type LoginPage, loginPage } from './login.ts';
import { addOverview } from './overview.ts';
import { serveAssets } from './parts/assets.ts';
import { failureFor } from './parts/failure.ts';
import { publicFailurePage } from './parts/public-failure-page.ts';
import { type PageParts, Site } from './parts/site.ts';
import { addPolls } from './polls.ts';
import { addSinks } from './sinks.ts';

/** What a page may load and where it may send something: from and to here alone, and nothing that stands in the page itself. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

const FORM = 'application/x-www-form-urlencoded';
const MAX_FORM_BYTES = 64 * 1024;

const addPages = [
  addOverview,
  addLeads,
  addLead,
  addDeliveries,
  addSinks,
  addPolls,
  addConfiguration,
] as const;

/** What the login needs of the pages: it is open to strangers, and they are not. */
export interface RegisteredPages {
  /** Answers with the page that asks for the token. Its assets, under `/assets/`, are for everybody. */
  sendLogin(reply: FastifyReply, page: LoginPage): FastifyReply;
}

/**
 * Adds the pages, and what they load, to a server. Who may see them, and that a change comes from a page of this
 * server, is the server's to check before.
 */
export function registerPages(app: FastifyInstance, parts: PageParts): RegisteredPages {
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
  app.decorate('errorPage', async (request: FastifyRequest, reply: FastifyReply, refusal: RequestError) => {
    protect(reply);
    const failure = failureFor(refusal);
    // Nobody is told how leadsync is who has not shown that they may ask.
    if (actor.getStore()) return site.fail(request, reply, failure);
    return site.send(reply, publicFailurePage(assetAddress, failure), failure.status);
  });
  return {
    sendLogin: (reply, page) =>
      protect(reply).type('text/html; charset=utf-8').send(loginPage(assetAddress, page)),
  };
}

/** Forms repeat fields (the rows that were selected), and are longer than what the API is sent. */
function readForms(scope: FastifyInstance): void {
  if (scope.hasContentTypeParser(FORM)) scope.removeContentTypeParser(FORM);
  scope.addContentTypeParser(FORM, { parseAs: 'string', bodyLimit: MAX_FORM_BYTES }, (_request, body, done) =>
    done(null, new URLSearchParams(String(body))),
  );
}

function protect(reply: FastifyReply): FastifyReply {
  return reply.headers({ 'content-security-policy': POLICY, 'referrer-policy': 'same-origin' });
}
