import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { html } from 'htm/preact';
import type { VNode } from 'preact';
import type { Overview } from '../../contract/model.ts';
import type { Operations } from '../../contract/operations.ts';
import { RequestError } from '../../contract/request-error.ts';
import type { AssetName } from './assets.ts';
import { type Confirmation, confirmationForm } from './confirmation.ts';
import { layout, type Page } from './layout.ts';
import { markup } from './markup.ts';
import { leaveNotice, type Notice, takeNotice } from './notice.ts';
import { renderDocument } from './render-document.ts';

/**
 * What the server hands to all pages. Its `operations` note in the audit log what is revealed or done, before it is.
 */
export interface PageParts {
  /** Its overview is asked for with every page, whose title and icon tell the state. */
  readonly operations: Operations;
  /** Who asks: `session` when it can be ended, for which there is a button then. */
  readonly who: () => string;
  /** Rewrites the commands in a text into what its readers can type. Absent: texts stay as they are. */
  readonly asTyped?: (text: string) => string;
  /** Is told a fault that nobody foresaw. */
  readonly onFault: (error: unknown) => void;
  /** How often a page that is looked at brings itself up to date, in ms. */
  readonly refreshMs?: number;
}

/** In place of what would be told if leadsync could tell it. */
const UNKNOWN: Overview['troubles'][number] = {
  severity: 'warning',
  about: null,
  what: 'How leadsync is could not be found out.',
  next: '`leadsync status` and its log say more.',
};

const REFRESH_MS = 5_000;

/** What all pages are made with: the frame around them, the way on after an action, and the question before it. */
export class Site {
  readonly operations: Operations;
  readonly who: PageParts['who'];
  /** Rewrites the commands in a text into what its readers can type. */
  readonly asTyped: (text: string) => string;
  readonly #parts: PageParts;
  readonly #assetAddress: (name: AssetName) => string;

  constructor(parts: PageParts, assetAddress: (name: AssetName) => string) {
    this.#parts = parts;
    this.#assetAddress = assetAddress;
    this.operations = parts.operations;
    this.who = parts.who;
    this.asTyped = parts.asTyped ?? ((text) => text);
  }

  /** Answers with a page. */
  async show(request: FastifyRequest, reply: FastifyReply, page: Page): Promise<FastifyReply> {
    const overview = await this.#overview();
    const frame = {
      assetAddress: this.#assetAddress,
      refreshMs: this.#parts.refreshMs ?? REFRESH_MS,
      signedIn: this.who() === 'session',
      troubles: overview?.troubles ?? [UNKNOWN],
      address: page.address ?? request.url,
      // The notice is for the page itself; a live update would take it away unread.
      notice: request.headers['hx-request'] === undefined ? takeNotice(request, reply) : undefined,
    };
    return this.send(reply, layout(page, frame), page.status);
  }

  /** Undefined when it cannot be had at the moment: a page that can be shown is shown all the same. */
  async #overview(): Promise<Overview | undefined> {
    try {
      return await this.operations.overview();
    } catch (error) {
      // Whoever wants to know why asks for the overview itself, which refuses in so many words.
      if (!(error instanceof RequestError)) this.#parts.onFault(error);
      return undefined;
    }
  }

  /** Answers with a document. */
  send(reply: FastifyReply, document: VNode, status = 200): FastifyReply {
    return reply.code(status).type('text/html; charset=utf-8').send(renderDocument(document));
  }

  /** Asks whether to go on; the answer comes back to the same address, with `sure`. */
  confirm(request: FastifyRequest, reply: FastifyReply, confirmation: Confirmation): Promise<FastifyReply> {
    const still = confirmationForm(request.url, confirmation);
    return this.show(request, reply, { title: confirmation.title, still, address: confirmation.back });
  }

  /** Goes on to a page after an action, and says there what came of it (RFC 9110, section 15.4.4). */
  done(reply: FastifyReply, to: string, notice: Notice): FastifyReply {
    leaveNotice(reply, notice);
    return reply.redirect(to, 303);
  }

  /** Answers that something does not exist, or did not work. */
  fail(request: FastifyRequest, reply: FastifyReply, { title, what, next, status }: Failure) {
    const still = html`<section id="ask" class="failure"><p>${markup(this.asTyped(what))}</p><p>${markup(this.asTyped(next))}</p></section>`;
    return this.show(request, reply, { title, still, status, address: '/' });
  }
}

/**
 * Why there is no page, for its reader: `what` and `next` are whole sentences, marked as `marked` reads them; `status`
 * is HTTP's.
 */
export interface Failure {
  readonly title: string;
  readonly what: string;
  readonly next: string;
  readonly status: number;
}

/** Adds the routes of a page. */
export type AddPage = (app: FastifyInstance, site: Site) => void;

/** A parameter of the address. */
export function paramOf(request: FastifyRequest, name: string): string {
  return (request.params as Record<string, string>)[name] ?? '';
}

/** What a form sent, each field as often as it was there. */
export function fieldsOf(request: FastifyRequest): URLSearchParams {
  return request.body instanceof URLSearchParams ? request.body : new URLSearchParams();
}
