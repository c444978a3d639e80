import { retainOnce } from '../../src/daemon/upkeep/retain.ts';
import type { PollId } from '../../src/ledger/contract/status-rows.ts';
import {
  aSink,
  delivered,
  HOUR,
  LedgerUnderTest,
  MINUTE,
  refused,
  unanswered,
  unavailable,
} from '../ledger/ledger-under-test.ts';
import { SqliteFile } from '../ledger/sqlite-store.ts';
import type { Chance } from '../simulation/chance.ts';
import { aListedLead } from '../support/scene/a-lead.ts';

const LEADS = 12;
const SINKS = ['crm', 'mirror'];
const OUTCOMES = [delivered, delivered, refused, unavailable, unanswered];
const NEVER = new AbortController().signal;

/** A ledger to which everything happens that can change its rows, in an order that follows from a seed. */
export class RandomHistory {
  readonly disk = new SqliteFile();
  readonly on = new LedgerUnderTest(this.disk.open);
  readonly #chance: Chance;
  /** What the service lists: the name in each lead. */
  readonly #names = new Map<number, string>();
  #open: PollId | undefined;

  constructor(chance: Chance) {
    this.#chance = chance;
  }

  async begin(): Promise<void> {
    await this.on.declare(...SINKS.map((name) => aSink(name, { events: ['created', 'updated'] })));
    await this.#list();
  }

  /** Lets one thing happen, after some time or none. */
  async step(): Promise<void> {
    if (this.#chance.oneIn(2)) this.on.clock.jump(this.#chance.between(1, 3 * HOUR));
    const things = [
      this.#list,
      this.#list,
      this.#startPoll,
      this.#attempt,
      this.#attempt,
      this.#attempt,
      this.#setClockBack,
      this.#erase,
      this.#replay,
      this.#retry,
      this.#computeClientKeys,
    ];
    await things[this.#chance.below(things.length)]?.call(this);
  }

  /** Removes what is older than a day. */
  async retain(): Promise<void> {
    const [day, { clock, ledger }] = [24 * HOUR, this.on];
    const retention = { leads: day, versions: day, attempts: day, rejected_leads: day };
    const still = { ...clock, now: () => clock.now(), monotonicMs: () => 0, sleep: async () => undefined };
    await retainOnce(retention, { ledger, clock: still, emit: () => undefined }, NEVER);
  }

  /** Changes some of what the service has, and lists it to its end. */
  async #list(): Promise<void> {
    await this.#startPoll();
    const poll = this.#open as PollId;
    this.on.clock.jump(this.#chance.below(MINUTE));
    await this.on.ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
    this.#open = undefined;
  }

  /** Leaves a poll open, with what it has recorded. */
  async #startPoll(): Promise<void> {
    for (const id of this.#chance.some(
      Array.from({ length: LEADS }, (_, at) => at + 1),
      3,
    ))
      if (this.#chance.oneIn(3)) this.#names.delete(id);
      else this.#names.set(id, `Name ${this.#chance.below(4)}`);
    this.#open = await this.on.ledger.startPoll('main');
    await this.on.ledger.record(
      this.#open,
      [...this.#names].map(([id, name], position) => ({ ...this.#item(id, name), position })),
    );
  }

  #item(id: number, name: string) {
    const lead = aListedLead({
      id,
      client_name: name,
      service_slug: name === 'Name 0' ? 'gardening' : 'house-cleaning',
      ...(name === 'Name 3' && { service_question_answers: [] }),
    });
    return this.#chance.oneIn(6)
      ? { ...lead, kind: 'rejected' as const, reason: 'It is wrong.', path: 'client_email' }
      : lead;
  }

  async #attempt(): Promise<void> {
    const sink = SINKS[this.#chance.below(SINKS.length)] as string;
    const outcome = OUTCOMES[this.#chance.below(OUTCOMES.length)] ?? delivered;
    const { refs } = await this.on.claim(sink, { max: this.#chance.between(1, 3) });
    for (const ref of this.#chance.some(refs, 4)) {
      const begun = await this.on.ledger.begin(ref, MINUTE);
      if (!begun) continue;
      await this.on.settle(ref, ...begun.batch.deliveries.map(() => outcome));
      this.on.clock.jump(1);
    }
  }

  async #setClockBack(): Promise<void> {
    const byMs = this.#chance.between(2_000, 5 * HOUR);
    this.on.clock.setBack(byMs);
    await this.on.ledger.clockWentBack(byMs);
  }

  async #erase(): Promise<void> {
    const { ledger } = this.on;
    if (!this.#chance.oneIn(3)) return;
    const lead = BigInt(this.#chance.between(1, LEADS));
    await ledger.erase(await ledger.findPerson({ kind: 'lead', lead }), []);
  }

  async #replay(): Promise<void> {
    await this.on.ledger.replay('crm', { lead: BigInt(this.#chance.between(1, LEADS)) });
  }

  async #retry(): Promise<void> {
    await this.on.ledger.retry({ states: ['dead', 'pending'] });
  }

  async #computeClientKeys(): Promise<void> {
    const secret = `a secret of some length ${this.#chance.below(2)}`;
    while (!(await this.on.ledger.computeClientKeys(secret)));
  }
}
