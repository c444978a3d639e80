/** One thing that the promise rests on, and how it is taken away for a moment. */
export interface Safeguard {
  readonly name: string;
  /** What could happen without it. */
  readonly without: string;
  readonly file: string;
  /** The text that stands exactly once in the file, and what is put in its place. */
  readonly text: string;
  readonly instead: string;
  /** Where at least one test must then fail. */
  readonly tests: readonly string[];
}

/** Every safeguard that `npm run test:checks` removes, one at a time. */
export const safeguards: readonly Safeguard[] = [
  {
    name: 'seen and owed in one transaction',
    without: 'a crash between the two leaves leads that are seen and owed to nobody',
    file: 'src/ledger/recording.ts',
    text: 'this.#transactions.write(() => {\n        if (poll.oldBefore',
    instead: '((work: () => void) => work())(() => {\n        if (poll.oldBefore',
    tests: ['test/ledger', 'test/faults/killed.test.ts'],
  },
  {
    name: 'the fence when an attempt is settled',
    without: 'an attempt whose lease was given to another settles the batch of that other',
    file: 'src/ledger/settling.ts',
    text: 'AND b.lease = +? ORDER',
    instead: 'AND +? IS NOT NULL ORDER',
    tests: ['test/ledger', 'test/simulation'],
  },
  {
    name: 'one attempt for a lease',
    without: 'a job that Redis hands out twice is sent twice',
    file: 'src/ledger/settling.ts',
    text: 'AND lease = ? AND holder IS NULL AND leased_until > ?',
    instead: 'AND lease = ? AND leased_until > ?',
    tests: ['test/ledger', 'test/simulation'],
  },
  {
    name: 'a lease that has ended is renewed',
    without: 'what was on its way when a process died is never offered again',
    file: 'src/ledger/claiming.ts',
    text: 'WHERE sink_no = +? AND leased_until <= +? ORDER BY ${order} LIMIT +?',
    instead: 'WHERE sink_no = +? AND leased_until <= +? AND 0 ORDER BY ${order} LIMIT +?',
    tests: ['test/ledger', 'test/simulation'],
  },
  {
    name: 'the answer only after the commit',
    without: 'something is reported as done that a crash undoes',
    file: 'src/ledger/group-commit.ts',
    text: 'return () => resolve(result);',
    instead: 'resolve(result);\n          return () => undefined;',
    tests: ['test/ledger'],
  },
  {
    name: 'every commit of the ledger is on disk (synchronous = FULL)',
    without: 'a power cut undoes the last commits',
    file: 'src/ledger/sqlite-ledger.ts',
    text: "db.pragma('synchronous = FULL');",
    instead: "db.pragma('synchronous = NORMAL');",
    tests: ['test/ledger'],
  },
  {
    name: 'a CSV file is synced before it is renamed',
    without: 'a power cut leaves an empty file under a good name',
    file: 'src/platform/files.ts',
    text: '      await file.sync();\n    } finally {',
    instead: '    } finally {',
    tests: ['test/sinks/csv', 'test/simulation'],
  },
  {
    name: 'the folder is synced after the rename',
    without: 'a power cut takes back a file that was reported as delivered',
    file: 'src/platform/files.ts',
    text: '    throw error;\n  }\n  await files.syncFolder(folder);\n}',
    instead: '    throw error;\n  }\n}',
    tests: ['test/sinks/csv', 'test/simulation'],
  },
  {
    name: 'a file appears whole or not at all',
    without: 'a reader picks up a part of a file',
    file: 'src/platform/files.ts',
    text: 'const temporary = join(folder, `.${basename(path)}.${nonce}.tmp`);',
    instead: 'const temporary = path; void nonce; void basename;',
    tests: ['test/sinks/csv', 'test/faults/csv.test.ts'],
  },
  {
    name: 'the refresh token is on disk before the new access token is used',
    without: 'a crash between the two leaves a refresh token that the service no longer takes',
    file: 'src/source/tokens.ts',
    text: "    await this.#parts.file.write(token);\n    reach('token-saved');\n    this.#unsaved = undefined;\n    return this.#hold(token, grant);",
    instead:
      "    void this.#parts.file.write(token).then(() => reach('token-saved'), () => undefined);\n    this.#unsaved = undefined;\n    return this.#hold(token, grant);",
    tests: ['test/source/tokens.test.ts', 'test/faults/killed-while-renewing.test.ts'],
  },
  {
    name: 'one renewal for any number of waiters',
    without: 'two renewals at once, of which the second ends the first one’s refresh token',
    file: 'src/source/tokens.ts',
    text: 'if (this.#renewal === undefined) {',
    instead: 'if (this.#renewal === undefined || refused === undefined) {',
    tests: ['test/source/tokens.test.ts'],
  },
  {
    name: 'the mark of a listing only after its end was recorded',
    without: 'leads of a listing that broke off are never read again',
    file: 'src/ledger/polls.ts',
    text: "if (end.status === 'success') this.#complete(poll, end.mark);",
    instead: "this.#complete(poll, 'mark' in end ? end.mark : undefined);",
    tests: ['test/ledger', 'test/daemon', 'test/simulation'],
  },
  {
    name: 'a listing is complete only at its final bracket',
    without: 'a body that was cut short counts as the whole listing',
    file: 'src/source/listing-body.ts',
    text: '      throw brokenOff(error, this.#bytes);',
    instead: '      void brokenOff(error, this.#bytes);',
    tests: ['test/source', 'test/faults/service.test.ts'],
  },
  {
    name: 'the same batch again, not a new one',
    without: 'a CSV file is written a second time under another name',
    file: 'src/ledger/claiming.ts',
    text: 'refs.push({ sink: sink.name, batch: batchId(row.batch_no), lease, replaces: row.lease || undefined });',
    instead:
      'const other = Number(this.#sql.addBatch.run(sink.sinkNo, now, lease, until, holder, lost).lastInsertRowid); this.#assign(other, this.#sql.inBatch.all(row.batch_no)); refs.push({ sink: sink.name, batch: batchId(other), lease });',
    tests: ['test/ledger', 'test/faults/killed.test.ts'],
  },
  {
    name: 'an older content does not overtake a newer one',
    without: 'a sink ends with what a lead said before',
    file: 'src/ledger/order-sql.ts',
    text: 'export const UNBLOCKED = `(d.after_no IS NULL OR',
    instead: 'export const UNBLOCKED = `(1 OR d.after_no IS NULL OR',
    tests: ['test/ledger', 'test/simulation'],
  },
  {
    name: 'one daemon for a data directory',
    without: 'two daemons poll and owe the same leads',
    file: 'src/platform/lock.ts',
    text: "db.exec('BEGIN EXCLUSIVE');",
    instead: "db.exec('BEGIN');",
    tests: ['test/faults/ledger.test.ts', 'test/cli'],
  },
  {
    name: 'leads and answers in one transaction of PostgreSQL',
    without: 'a lead without its answers, when the connection is lost between the two',
    file: 'src/sinks/postgres/transaction.ts',
    text: '    BEGIN ISOLATION LEVEL READ COMMITTED ${mode};\n',
    instead: '    SELECT 1;\n',
    tests: ['test/sinks/postgres', 'test/faults/postgres.test.ts'],
  },
  {
    name: 'delivered only after the COMMIT',
    without: 'rows are reported that PostgreSQL then does not have',
    file: 'src/sinks/postgres/transaction.ts',
    text: "      await client.query('COMMIT');",
    instead: "      await client.query('ROLLBACK');",
    tests: ['test/sinks/postgres'],
  },
  {
    name: 'a known batch has one name in Redis',
    without: 'what is offered again while it waits is queued twice',
    file: 'src/delivery/bullmq-carrier.ts',
    text: 'opts: { jobId: jobId(batch, lease) },',
    instead: 'opts: {},',
    tests: ['test/delivery'],
  },
  {
    name: 'the ledger counts what is lost, not the queue',
    without: 'a batch that was killed twice is dropped for good',
    file: 'src/delivery/bullmq-worker.ts',
    text: 'maxStalledCount: 1_000_000,',
    instead: 'maxStalledCount: 0,',
    tests: ['test/delivery', 'test/faults/killed.test.ts', 'test/faults/redis.test.ts'],
  },
  {
    name: 'what waits is offered again',
    without: 'a job that Redis has lost waits for the end of its lease, ten minutes',
    file: 'src/daemon/dispatch.ts',
    text: 'if (waiting.length > 0) await carrier.offer(waiting);',
    instead: 'void waiting;',
    tests: ['test/daemon', 'test/simulation', 'test/faults/redis.test.ts'],
  },
  {
    name: 'no attempt is used up while a sink is down',
    without: 'an outage longer than the retry schedule kills leads',
    file: 'src/delivery/judge.ts',
    text: 'return lastDeliveredAt !== undefined && lastDeliveredAt >= one.waitingSince;',
    instead: 'return true;',
    tests: ['test/delivery', 'test/simulation'],
  },
  {
    name: 'a deadline over the whole of a webhook’s answer',
    without: 'a receiver that trickles holds a place for ever',
    file: 'src/sinks/webhook/webhook.ts',
    text: 'return await withinDeadline(this.#parts.timeoutMs, stop, work);',
    instead: 'return await work(stop);',
    tests: ['test/sinks/webhook', 'test/faults/webhook.test.ts'],
  },
  {
    name: 'a repeat carries the same webhook-id',
    without: 'a receiver cannot tell a repeat from a new event',
    file: 'src/sinks/webhook/message.ts',
    text: 'return { id: delivery.id, body',
    instead: 'return { id: `${delivery.id}${Math.random()}`, body',
    tests: ['test/sinks/webhook'],
  },
];
