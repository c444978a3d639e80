import { brokenLeads } from '../../test/stub/odd-leads.ts';
import { type Stub, startStub } from '../../test/stub/stub.ts';
import type { Opened } from '../../test/support/program/tool.ts';
import type { WorldOptions } from './options.ts';

/** The first lead of the south. The ids of the two services differ, so that an id names a lead: the options keep the north below. */
const SOUTH_FROM = 100_001;
const BROKEN = 12;

/** The two services whose listings leadsync reads. */
export class Services {
  readonly north: Stub;
  readonly south: Stub;
  /** Number of grants before the login was revoked. */
  #grantsBeforeRevoked: number | undefined;
  readonly #broken = brokenLeads().slice(0, BROKEN);

  /** The first lead of each that was not listed from the start. */
  readonly #newFrom: { readonly north: number; readonly south: number };

  private constructor(north: Stub, south: Stub) {
    this.north = north;
    this.south = south;
    this.#newFrom = { north: 1 + north.shown, south: SOUTH_FROM + south.shown };
  }

  /** Starts both. They begin to list new leads with `grow`. */
  static async start(opened: Opened, { leads }: Pick<WorldOptions, 'leads'>): Promise<Services> {
    const close = (stub: Stub) => stub.close();
    const seed = Date.now() % 1_000_000;
    const half = Math.floor(leads / 2);
    const north = await opened.add(() => startStub({ leads: leads - half, seed, etag: 'strong' }), close);
    const south = await opened.add(
      () => startStub({ leads: half, seed: seed + 1, firstId: SOUTH_FROM, personal: true, doorkeeper: true }),
      close,
    );
    return new Services(north, south);
  }

  get #both(): readonly Stub[] {
    return [this.north, this.south];
  }

  /** Whether a lead was created while the world ran. */
  isNew(lead: number): boolean {
    return lead >= (lead < SOUTH_FROM ? this.#newFrom.north : this.#newFrom.south);
  }

  /** Sets the rate of new leads, of both services together. */
  grow(perMinute: number): void {
    for (const stub of this.#both) stub.arrive(perMinute / 2 / 60);
  }

  /** Both answer the next request for their listing only after this time, so that leadsync has no lead until then. */
  holdBack(delayMs: number): void {
    for (const stub of this.#both) stub.misbehave({ listing: 'slow', delayMs, times: 1 });
  }

  /** The north lists leads that violate its description, or no longer does. */
  break(isBroken: boolean): void {
    for (const { text } of this.#broken) {
      if (isBroken) this.north.addRaw(text);
      else this.north.removeRaw(text);
    }
  }

  /** The north lists only a quarter of its leads, or all of them again. */
  shrink(isShrunk: boolean): void {
    if (isShrunk) this.north.misbehave({ listing: 'quartered' });
    else this.north.behave();
  }

  /** The north answers each request for its listing with 500, or works again. */
  fail(isFailing: boolean): void {
    if (isFailing) this.north.misbehave({ listing: 'server-error' });
    else this.north.behave();
  }

  /** The south no longer accepts the login, until a person logs in again. */
  revokeLogin(): void {
    this.#grantsBeforeRevoked = this.south.grants.length;
    this.south.revoke('all');
    this.south.revoke('refresh');
  }

  /** Whether there was no login at the south since it was revoked. */
  get isLoginRevoked(): boolean {
    const since = this.#grantsBeforeRevoked;
    return since !== undefined && !this.south.grants.slice(since).includes('authorization_code');
  }

  /** The ids of all leads that were listed, ascending. */
  listed(): number[] {
    return this.#both.flatMap((stub) => stub.served.ids());
  }

  /** Whether every lead has been listed. */
  isAllListed(): boolean {
    return this.#both.every((stub) => stub.served.ids().length >= stub.shown);
  }
}
