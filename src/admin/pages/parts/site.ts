import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import { actor } from '../../contract/actor.ts';
import type { Operations } from '../../contract/operations.ts';
import type { Overview } from '../../contract/overview.ts';
import { RequestError } from '../../contract/request-error.ts';
import type { AssetName } from './assets.ts';
import { type Confirmation, confirmationForm } from './confirmation.ts';
import { formattedText } from './formatted-text.ts';
import { layout, type Page } from './layout.ts';
import { leaveNotice, type Notice, takeNotice } from './notice.ts';
import { recoveryLinks } from './recovery-links.ts';
import { renderDocument } from './render-document.ts';

/** What the server hands to all pages. Its `operations` record each reveal and each action in the audit log before it happens. */
export interface PageParts {
  /** Operations of the pages. Every page calls `overview`, because its title and icon show the state. */
  readonly operations: Operations;
  /** Rewrites each `leadsync …` command in a text to the form that works in this installation. If absent, texts stay unchanged. */
  readonly rewriteCommands?: (text: string) => string;
  /** Reports an unexpected error. */
  readonly onFault: (error: unknown) => void;
  /** Interval at which a visible page updates itself, in ms. */
  readonly refreshMs?: number;
}

/** Problem that a page shows if the overview fails. */
const OVERVIEW_FAILED: Overview['problems'][number] = {
  code: 'unknown',
  severity: 'warning',
  about: null,
  message: 'The state of leadsync is unknown.',
  next_step: 'Run `leadsync status`, and see the log.',
  page_step: 'Run `leadsync status`, and see the log.',
  runbook: 'docs/operating.md#the-first-minute',
  runbook_url: null,
};

const REFRESH_MS = 5_000;

/** Sends pages: the layout, the confirmation before an action, the notice after it, and errors. */
export class Site {
  readonly operations: Operations;
  /** Rewrites each `leadsync …` command in a text to the form that works in this installation. */
  readonly rewriteCommands: (text: string) => string;
  readonly #parts: PageParts;
  readonly #assetAddress: (name: AssetName) => string;

  constructor(parts: PageParts, assetAddress: (name: AssetName) => string) {
    this.#parts = parts;
    this.#assetAddress = assetAddress;
    this.operations = parts.operations;
    this.rewriteCommands = parts.rewriteCommands ?? ((text) => text);
  }

  /** Sends a page. */
  async show(request: FastifyRequest, reply: FastifyReply, page: Page): Promise<FastifyReply> {
    const overview = await this.#overview();
    const frame = {
      assetAddress: this.#assetAddress,
      refreshMs: this.#parts.refreshMs ?? REFRESH_MS,
      reader: actor.getStore(),
      installation: overview?.installation ?? undefined,
      problems: overview?.problems ?? [OVERVIEW_FAILED],
      address: page.address ?? request.url,
      // A live update must not consume the notice before the reader sees it.
      notice: request.headers['hx-request'] === undefined ? takeNotice(request, reply) : undefined,
    };
    return this.send(reply, layout(page, frame), page.status);
  }

  /** Returns the overview; undefined if it fails, so that the rest of the page is still shown. */
  async #overview(): Promise<Overview | undefined> {
    try {
      return await this.operations.overview();
    } catch (error) {
      // The overview page itself shows the reason.
      if (!(error instanceof RequestError)) this.#parts.onFault(error);
      return undefined;
    }
  }

  /** Sends a document. */
  send(reply: FastifyReply, document: VNode, status = 200): FastifyReply {
    return reply.code(status).type('text/html; charset=utf-8').send(renderDocument(document));
  }

  /** Asks the reader to confirm. The form posts to the same address, with the field `sure`. */
  confirm(request: FastifyRequest, reply: FastifyReply, confirmation: Confirmation): Promise<FastifyReply> {
    const still = confirmationForm(request.url, confirmation);
    return this.show(request, reply, { title: confirmation.title, still, address: confirmation.back });
  }

  /** Redirects to a page after an action, and shows the result there (RFC 9110, section 15.4.4). */
  done(reply: FastifyReply, to: string, notice: Notice): FastifyReply {
    leaveNotice(reply, notice);
    return reply.redirect(to, 303);
  }

  /** Sends an error page, whose section `#ask` is also the content of a dialog, with links to pages where the reader can continue. */
  fail(request: FastifyRequest, reply: FastifyReply, { title, what, next, status }: Failure) {
    const still = html`<section id="ask" class="failure"><h2 id="ask-heading">${title}</h2><p>${formattedText(this.rewriteCommands(what))}</p><p>${formattedText(this.rewriteCommands(next))}</p>
        <p class="buttons"><a class="button" href="/" data-close>Close</a></p></section>
      ${recoveryLinks(request, status)}`;
    return this.show(request, reply, { title, still, status, address: '/' });
  }
}

/** Content of an error page. `what` and `next` are complete sentences in the syntax of `formattedText`; `status` is the HTTP status. */
export interface Failure {
  readonly title: string;
  readonly what: string;
  readonly next: string;
  readonly status: number;
}

/** Adds the routes of a page. */
export type AddPage = (app: FastifyInstance, site: Site) => void;

/** Returns a parameter of the path. */
export function paramOf(request: FastifyRequest, name: string): string {
  return (request.params as Record<string, string>)[name] ?? '';
}

/** Returns the fields of a form, which may repeat. */
export function fieldsOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
}
