import { leadText } from '../../test/stub/generated-lead.ts';

const PIECE_BYTES = 256 * 1024;
const SEED = 1;

/**
 * A listing of the stub's leads as ready bytes, so that serving it costs as little as sending them does. Its leads have
 * consecutive ids; it may grow at its end and shrink at its beginning.
 */
export class RenderedListing {
  #first: number;
  #next: number;
  #pieces: Buffer[];
  /** Each lead whose id is a multiple of this has changed; undefined: none has. */
  #changedEvery: number | undefined;
  /** Changes with every change to what is listed. */
  revision = 1;

  constructor(first: number, leads: number) {
    this.#first = first;
    this.#next = first + leads;
    this.#pieces = this.#piecesOf(this.#first, this.#next);
  }

  get first(): number {
    return this.#first;
  }

  get leads(): number {
    return this.#next - this.#first;
  }

  /** The last lead's id. */
  get newest(): number {
    return this.#next - 1;
  }

  /** The whole body as it is now, in pieces; the last one is its closing bracket alone. */
  body(): readonly Buffer[] {
    return [Buffer.from('['), ...this.#pieces, Buffer.from(']')];
  }

  /** Lists more leads at its end. */
  grow(leads: number): void {
    if (leads === 0) return;
    const added = this.#piecesOf(this.#next, this.#next + leads, this.leads > 0);
    this.#pieces = [...this.#pieces, ...added];
    this.#next += leads;
    this.revision += 1;
  }

  /** Lists a new lead at its end and no longer lists the first one. @returns the new lead's id */
  slide(): number {
    this.#first += 1;
    this.#next += 1;
    this.#render();
    return this.newest;
  }

  /** Gives every lead whose id is a multiple of `every` another content. Returns the revision that shows it. */
  change(every: number): number {
    this.#changedEvery = every;
    this.#render();
    return this.revision;
  }

  #render(): void {
    this.#pieces = this.#piecesOf(this.#first, this.#next);
    this.revision += 1;
  }

  #piecesOf(from: number, to: number, more = false): Buffer[] {
    const pieces: Buffer[] = [];
    let text = more ? ',' : '';
    for (let id = from; id < to; id += 1) {
      text += leadJson(id, this.#changedEvery !== undefined && id % this.#changedEvery === 0 ? 2 : 1);
      if (id + 1 < to) text += ',';
      if (text.length > PIECE_BYTES || id + 1 === to) {
        pieces.push(Buffer.from(text));
        text = '';
      }
    }
    return pieces;
  }
}

/** The JSON text of a lead of every listing. */
export function leadJson(id: number, version = 1): string {
  return leadText({ seed: SEED, id, version });
}
