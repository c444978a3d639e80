import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { judgeBy } from '../../src/delivery/judge.ts';
import type { Ledger } from '../../src/ledger/contract/ledger.ts';
import { LedgerError } from '../../src/ledger/contract/ledger-error.ts';
import { openLedger } from '../../src/ledger/sqlite-ledger.ts';
import { type FollowEvent, followLedger } from '../../src/operations/follow-ledger.ts';
import { systemClock } from '../../src/platform/time/clock.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { aListedLead } from '../support/scene/a-lead.ts';
import { until } from '../support/time/until.ts';

const judge = judgeBy(
  () => ({ scheduleMs: [], jitter: 0 }),
  () => 0.5,
);

/** A ledger in a folder, and the events that a follower of it gets. */
class Followed {
  readonly folder = tempDir();
  readonly heard: FollowEvent[] = [];
  /** Whether the ledger that is followed refuses the next cursor, as after a failover. */
  refusesCursor = false;

  async begin(): Promise<Ledger> {
    const ledger = this.open(true);
    await ledger.declareSinks([{ name: 'crm', events: ['created'], backfill: true }]);
    const stop = new AbortController();
    const open = async () => this.#refusing(this.open(false));
    const happened = followLedger({ open, clock: systemClock, signal: stop.signal, withData: false });
    const following = this.#listen(happened);
    onTestFinished(async () => {
      stop.abort();
      await following;
    });
    // A generator begins when it is asked: whatever is recorded from its first look on is told.
    await until('it follows', async () => {
      await this.list(ledger, BigInt(1_000_000 + this.heard.length));
      return this.heard.length > 0;
    });
    this.heard.length = 0;
    return ledger;
  }

  open(create: boolean): Ledger {
    const file = join(this.folder, 'ledger.db');
    const ledger = openLedger({ file, clock: systemClock, random: Math.random, judge, create });
    onTestFinished(() => ledger.close());
    return ledger;
  }

  #refusing(ledger: Ledger): Ledger {
    const feed: Ledger['feed'] = async (since, withData) => {
      if (!this.refusesCursor) return ledger.feed(since, withData);
      this.refusesCursor = false;
      throw new LedgerError('replaced', 'The cursor is refused.', 'Begin again.');
    };
    return { ...ledger, feed };
  }

  async list(ledger: Ledger, id: bigint): Promise<void> {
    const poll = await ledger.startPoll('main');
    await ledger.record(poll, [aListedLead({ id })]);
    await ledger.finishPoll(poll, { status: 'success', bytes: 1, httpStatus: 200, mark: undefined });
  }

  async hears(what: string, heard: (happening: FollowEvent) => boolean): Promise<void> {
    await until(`it hears ${what}`, () => this.heard.some(heard));
  }

  async #listen(happened: AsyncGenerator<readonly FollowEvent[]>): Promise<void> {
    for await (const some of happened) this.heard.push(...some);
  }
}

const isLead = (id: string) => (one: FollowEvent) => one.kind === 'lead' && one.lead === id;
const isLedger = (what: string) => (one: FollowEvent) => one.kind === 'ledger' && one.what === what;
const isSink = (what: string) => (one: FollowEvent) => one.kind === 'sink' && one.what === what;

test('the follower gets what another connection records, and the state of sinks', async () => {
  const followed = new Followed();
  const ledger = await followed.begin();
  await followed.list(ledger, 7n);
  await ledger.pause('crm', 'a holiday');
  await followed.hears('of the lead', isLead('7'));
  await followed.hears('of the pause', isSink('paused'));
  expect(followed.heard.find(isSink('paused'))).toMatchObject({ sink: 'crm', reason: 'a holiday' });
  await ledger.resume('crm');
  await followed.hears('that it goes on', isSink('resumed'));
});

test('the follower reports an unreachable ledger once, waits for it, and then gets what happened meanwhile', async () => {
  const followed = new Followed();
  const ledger = await followed.begin();
  const away = join(followed.folder, 'away');
  mkdirSync(away);
  const move = (from: string, to: string) => {
    for (const name of ['ledger.db', 'ledger.db-wal', 'ledger.db-shm'])
      renameSync(join(from, name), join(to, name));
  };
  move(followed.folder, away);
  await followed.hears('that it is away', isLedger('away'));
  await followed.list(ledger, 8n);
  move(away, followed.folder);
  await followed.hears('of the lead', isLead('8'));
  const told = followed.heard.filter(({ kind }) => kind === 'ledger').map((one) => 'what' in one && one.what);
  expect(told).toEqual(['away', 'back']);
});

test('the follower reports that another ledger has replaced it, and follows that one', async () => {
  const followed = new Followed();
  const ledger = await followed.begin();
  await ledger.close();
  for (const name of ['ledger.db', 'ledger.db-wal', 'ledger.db-shm'])
    rmSync(join(followed.folder, name), { force: true });
  const other = followed.open(true);
  await followed.hears('that it is another', isLedger('another'));
  await followed.list(other, 9n);
  await followed.hears('of the lead', isLead('9'));
});

test('the follower reports a ledger that rejects its cursor as another one, and follows it from its end', async () => {
  const followed = new Followed();
  const ledger = await followed.begin();
  followed.refusesCursor = true;
  await followed.list(ledger, 9n);
  await followed.hears('that it is another', isLedger('another'));
  await followed.list(ledger, 10n);
  await followed.hears('of the lead', isLead('10'));
  const told = followed.heard.filter(({ kind }) => kind === 'ledger').map((one) => 'what' in one && one.what);
  expect(told).toEqual(['another']);
});
