import { leadText } from '../../test/stub/generated-lead.ts';

const PIECE_BYTES = 256 * 1024;
const SEED = 1;

/**
 * A listing of the stub's leads, rendered in advance, so that serving it costs no more than sending its bytes. Its leads have
 * consecutive ids. It can grow at its end and shrink at its beginning.
 */
export class RenderedListing {
  #first: number;
  #next: number;
  #pieces: Buffer[];
  /** Leads whose id is a multiple of this number have changed; undefined: none has. */
  #changedEvery: number | undefined;
  /** Increases with each change of the listing. */
  revision = 1;

  constructor(first: number, leads: number) {
    this.#first = first;
    this.#next = first + leads;
    this.#pieces = this.#piecesOf(this.#first, this.#next);
  }

  /** The id of the first lead. */
  get first(): number {
    return this.#first;
  }

  /** The number of leads. */
  get leads(): number {
    return this.#next - this.#first;
  }

  /** The id of the last lead. */
  get newest(): number {
    return this.#next - 1;
  }

  /** Returns the current body, in pieces. The last piece is the closing bracket. */
  body(): readonly Buffer[] {
    return [Buffer.from('['), ...this.#pieces, Buffer.from(']')];
  }

  /** Adds leads at the end. */
  grow(leads: number): void {
    if (leads === 0) return;
    const added = this.#piecesOf(this.#next, this.#next + leads, this.leads > 0);
    this.#pieces = [...this.#pieces, ...added];
    this.#next += leads;
    this.revision += 1;
  }

  /** Adds a lead at the end and removes the first one. Returns the id of the new lead. */
  slide(): number {
    this.#first += 1;
    this.#next += 1;
    this.#render();
    return this.newest;
  }

  /** Changes the content of every lead whose id is a multiple of `every`. Returns the revision with the change. */
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

/** Returns the JSON text of a lead, which is the same in every listing. */
export function leadJson(id: number, version = 1): string {
  return leadText({ seed: SEED, id, version });
}
