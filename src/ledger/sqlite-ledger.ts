import { setTimeout as sleep } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import type { Batch, BatchRef } from '../leads/delivery.ts';
import type { Judge } from '../leads/judge.ts';
import type { LeadId } from '../leads/lead.ts';
import type { ListedBlock, ListedItem } from '../leads/listed-lead.ts';
import type { Erased, LeadKey, Person, Subject } from '../leads/person.ts';
import type { Retained } from '../leads/retention.ts';
import type { Clock, Random } from '../platform/clock.ts';
import { Amending } from './amending.ts';
import { anatomyOf, lastPolls } from './anatomy.ts';
import { NEWEST, readPlace } from './browsing.ts';
import { Claiming } from './claiming.ts';
import { ClientKeys } from './client-keys.ts';
import { Comparing } from './comparing.ts';
import { Declaring } from './declaring.ts';
import { Erasing } from './erasing.ts';
import { GroupCommit } from './group-commit.ts';
import { History } from './history.ts';
import { Inspection } from './inspection.ts';
import type {
  Attempt,
  Claimed,
  ClaimRequest,
  DeclaredSink,
  DeclaredSource,
  DeliveryFilter,
  LeadChoice,
  Ledger,
  PollEnd,
  Settled,
  Tidied,
} from './ledger.ts';
import { LedgerError, toLedgerError } from './ledger-error.ts';
import { connect, fileIdentity, prepareFile, renameCopy, requireFile, scrub } from './ledger-file.ts';
import { NewsReader } from './news.ts';
import type { NewsMark } from './news-entries.ts';
import { Owing } from './owing.ts';
import { PersonSearch } from './person-search.ts';
import { Polls } from './polls.ts';
import { Recording } from './recording.ts';
import { Replaying } from './replaying.ts';
import { Retaining } from './retaining.ts';
import { migrate, recognise } from './schema.ts';
import { type Begun, Settling } from './settling.ts';
import type { PollId } from './shown.ts';
import { SinkRows } from './sink-rows.ts';
import { SubjectRows } from './subject-rows.ts';
import { Transactions } from './transactions.ts';
import { UpcomingDeliveries } from './upcoming.ts';
import { VitalSigns } from './vital-signs.ts';

export interface LedgerOptions {
  readonly file: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly judge: Judge;
  /** Whether a missing ledger is made, or an error. */
  readonly create: boolean;
  /** Names this process among those that attempt; whoever finds it dead can end its leases. Absent: it attempts nothing. */
  readonly holder?: string;
  /** How the file is opened; a test keeps the connection, to let the disk be full. */
  readonly connect?: (file: string) => Database.Database;
}

/** How many deliveries are made due in one transaction. */
const RETRIED_AT_ONCE = 500;
const MOMENT_MS = 5;
/** Opens the ledger and brings it to this version's shape. @throws LedgerError */
export function openLedger(options: LedgerOptions): Ledger {
  const { file, create } = options;
  if (!create) requireFile(file);
  let db: Database.Database | undefined;
  try {
    db = (options.connect ?? connect)(file);
    recognise(db); // before anything is changed: a file that is not ours stays as it is
    prepareFile(db);
    migrate(db);
    if (create) renameCopy(db);
    return new SqliteLedger(db, options);
  } catch (error) {
    db?.close();
    throw toLedgerError(error, file);
  }
}

class SqliteLedger implements Ledger {
  readonly id: string;
  /** Which file was opened. */
  readonly #file: string | undefined;
  readonly #db: Database.Database;
  readonly #transactions: Transactions;
  readonly #commits: GroupCommit;
  readonly #rows: SinkRows;
  readonly #owing: Owing;
  readonly #recording: Recording;
  readonly #polls: Polls;
  readonly #declaring: Declaring;
  readonly #claiming: Claiming;
  readonly #settling: Settling;
  readonly #inspection: Inspection;
  readonly #upcoming: UpcomingDeliveries;
  readonly #news: NewsReader;
  readonly #vitals: VitalSigns;
  readonly #amending: Amending;
  readonly #replaying: Replaying;
  readonly #clientKeys: ClientKeys;
  readonly #history: History;
  readonly #erasing: Erasing;
  readonly #persons: PersonSearch;
  readonly #comparing: Comparing;
  readonly #retaining: Retaining;
  readonly #subjectRows: SubjectRows;
  readonly #clock: Clock;
  readonly #holder: string;
  /** By lease: what was claimed and begun in one commit, until its attempt asks for it. Never more than is on its way. */
  readonly #begun = new Map<number, Begun>();
  #dataVersion: unknown;
  #failing: LedgerError | undefined;

  constructor(db: Database.Database, { clock, random, judge, holder = 'nobody' }: LedgerOptions) {
    this.#db = db;
    this.#clock = clock;
    this.#holder = holder;
    this.#file = fileIdentity(db.name);
    this.id = this.#queueId();
    this.#rows = new SinkRows(db);
    this.#transactions = new Transactions(db, this.#rows);
    this.#commits = new GroupCommit(this.#transactions);
    this.#owing = new Owing(db, this.#rows);
    this.#recording = new Recording(db, this.#transactions, clock, this.#owing);
    this.#polls = new Polls(db, this.#transactions, clock, this.#recording);
    this.#declaring = new Declaring(db, clock, this.#rows);
    this.#claiming = new Claiming(db, clock, random, this.#rows);
    this.#settling = new Settling(db, clock, this.#rows, judge);
    this.#inspection = new Inspection(db, this.#rows);
    this.#upcoming = new UpcomingDeliveries(db);
    this.#news = new NewsReader(db);
    this.#vitals = new VitalSigns(db, this.#inspection);
    this.#amending = new Amending(db, clock, this.#rows);
    this.#replaying = new Replaying(db, clock, this.#rows, this.#owing);
    this.#clientKeys = new ClientKeys(db);
    this.#history = new History(db);
    this.#erasing = new Erasing(db, clock, this.#rows);
    this.#persons = new PersonSearch(db);
    this.#comparing = new Comparing(db);
    this.#retaining = new Retaining(db);
    this.#subjectRows = new SubjectRows(db);
    this.#dataVersion = this.#readDataVersion();
  }

  declareSinks(sinks: readonly DeclaredSink[]): Promise<void> {
    return this.#write(() => this.#rows.declare(sinks));
  }

  declareSources(sources: readonly DeclaredSource[]): Promise<void> {
    return this.#write(() => this.#declaring.sources(sources));
  }

  lastDeclared() {
    return this.#read(() => this.#declaring.last());
  }

  async forget(sink: string): Promise<number | undefined> {
    if (!(await this.#read(() => this.#declaring.isOrphan(sink)))) return undefined;
    let skipped = 0;
    await inTurns(async () => {
      const some = await this.#write(() => this.#declaring.forgetSome(sink));
      skipped += some;
      return some === 0;
    });
    return skipped;
  }

  backfill(sink: string) {
    return this.#write(() => this.#owing.backfill(sink, this.#clock.now().getTime()));
  }

  listingMark(source: string) {
    return this.#read(() => this.#polls.listingMark(source));
  }

  keepOrigin(source: string, origin: string) {
    return this.#noted(async () => this.#polls.keepOrigin(source, origin));
  }

  forgetOrigin(source: string) {
    return this.#noted(async () => this.#polls.forgetOrigin(source));
  }

  startPoll(source: string): Promise<PollId> {
    return this.#recorded(async () => this.#polls.start(source));
  }

  sift(poll: PollId, block: ListedBlock) {
    return this.#read(() => this.#recording.sift(this.#polls.underWay(poll), block));
  }

  record(poll: PollId, items: readonly ListedItem[]) {
    return this.#noted(async () => this.#recording.record(this.#polls.underWay(poll), items));
  }

  finishPoll(poll: PollId, end: PollEnd) {
    return this.#noted(() => this.#polls.finish(poll, end));
  }

  async claim(request: ClaimRequest): Promise<Claimed> {
    const begins = request.beginForMs !== undefined;
    const { claimed, begun } = await this.#write(() => {
      const claimed = this.#claiming.claim(request, begins ? this.#holder : null);
      return { claimed, begun: begins ? claimed.refs.map((ref) => this.#settling.begun(ref)) : [] };
    });
    for (const { replaces } of claimed.refs) if (replaces !== undefined) this.#begun.delete(replaces);
    for (const one of begun) this.#begun.set(one.lease, one);
    return claimed;
  }

  waiting(sink: string) {
    return this.#read(() => this.#claiming.waiting(sink));
  }

  begin(ref: BatchRef, leaseMs: number): Promise<Batch | undefined> {
    const begun = this.#begun.get(ref.lease);
    this.#begun.delete(ref.lease);
    // Whoever comes too late finds that the lease is no longer his, and asks the ledger like everybody else.
    if (begun?.batch.id === ref.batch && begun.until > this.#clock.now().getTime())
      return Promise.resolve(begun.batch);
    return this.#write(() => this.#settling.begin(ref, leaseMs, this.#holder));
  }

  settle(ref: BatchRef, attempt: Attempt): Promise<Settled | undefined> {
    return this.#recorded(() => this.#commits.run(() => this.#settling.settle(ref, attempt)));
  }

  failing(): LedgerError | undefined {
    return this.#failing;
  }

  holders() {
    return this.#read(() => this.#settling.holders());
  }

  release(ref: BatchRef): Promise<boolean> {
    return this.#write(() => this.#settling.release(ref, this.#holder));
  }

  endLeasesOf(holder: string): Promise<number> {
    return this.#write(() => this.#settling.endLeasesOf(holder));
  }

  activity(sink: string) {
    return this.#read(() => this.#claiming.activity(sink));
  }

  isReplaced(): boolean {
    return this.#checked(() => fileIdentity(this.#db.name) !== this.#file || this.#queueId() !== this.id);
  }

  changedElsewhere(): boolean {
    const version = this.#checked(() => this.#readDataVersion());
    const changed = version !== this.#dataVersion;
    this.#dataVersion = version;
    return changed;
  }

  backlog() {
    return this.#read(() => this.#inspection.backlog());
  }

  status() {
    return this.#read(() => this.#inspection.status());
  }

  vitals(recent: Date) {
    return this.#read(() => this.#vitals.all(recent));
  }

  polledHours(source: string, from: PollId | Date) {
    return this.#read(() => this.#vitals.polledHours(source, from));
  }

  deliveries(filter: DeliveryFilter, page: { limit: number; before?: string | undefined }) {
    return this.#read(() => this.#inspection.deliveries(filter, page));
  }

  trace(lead: LeadId, source?: string) {
    return this.#read(() => this.#inspection.trace(lead, source));
  }

  upcoming(sink: string, lead: LeadId, source?: string) {
    return this.#read(() => this.#upcoming.of(sink, lead, source));
  }

  newsMark() {
    return this.#read(() => this.#news.now());
  }

  news(since: NewsMark, withData: boolean) {
    return this.#read(() => this.#news.since(since, withData));
  }

  recentAttempts(limit: number) {
    return this.#read(() => this.#news.recentAttempts(limit));
  }

  lastPolls(limit: number) {
    return this.#read(() => lastPolls(this.#db, limit));
  }

  anatomy() {
    return this.#read(() => anatomyOf(this.#db));
  }

  async retry(filter: DeliveryFilter): Promise<number> {
    let retried = 0;
    let after = NEWEST;
    await inTurns(async () => {
      const part = await this.#read(() => this.#amending.retriable(filter, RETRIED_AT_ONCE, after));
      if (part.rows.length > 0) retried += await this.#write(() => this.#amending.retry(part.rows));
      after = readPlace(part.next ?? undefined) ?? NEWEST;
      return part.next === null;
    });
    return retried;
  }

  async replay(sink: string, leads: LeadChoice): Promise<number> {
    const { lead } = leads;
    if (lead !== undefined) return this.#write(() => this.#replaying.one(sink, lead, leads));
    const replay = await this.#write(() => this.#replaying.ask(sink, leads));
    return replay === undefined ? 0 : this.#finishReplay(replay);
  }

  async finishReplays(): Promise<number> {
    let owed = 0;
    for (const replay of await this.#read(() => this.#replaying.abandoned()))
      owed += await this.#finishReplay(replay);
    return owed;
  }

  async #finishReplay(replay: number): Promise<number> {
    let owed = 0;
    await inTurns(async () => {
      const step = await this.#write(() => this.#replaying.step(replay));
      owed = step.owed;
      return step.done;
    });
    return owed;
  }

  tidy(): Promise<Tidied> {
    return this.#guard(async () => {
      const [state] = this.#db.pragma('wal_checkpoint(PASSIVE)') as [{ log: number; checkpointed: number }];
      const pageBytes = Number(this.#db.pragma('page_size', { simple: true }));
      return {
        logBytes: Math.max(0, state.log) * pageBytes,
        heldUpBytes: Math.max(0, state.log - state.checkpointed) * pageBytes,
      };
    });
  }

  async clockWentBack(byMs: number): Promise<number> {
    const moved = await this.#write(() => this.#amending.clockWentBack(byMs));
    // Their leases have been pulled back as well: whoever has not asked yet comes too late.
    this.#begun.clear();
    return moved;
  }

  clockAt() {
    return this.#read(() => this.#amending.clockAt());
  }

  async keyClients(secret: string | undefined): Promise<boolean> {
    if (!(await this.#read(() => this.#clientKeys.isBehind(secret)))) return true;
    return this.#write(() => this.#clientKeys.keySome(secret));
  }

  historyAfter(table: string, no: number, limit: number) {
    return this.#read(() => this.#history.after(table, no, limit));
  }

  historyNow(table: string, numbers: readonly number[]) {
    return this.#read(() => this.#history.now(table, numbers));
  }

  overview() {
    return this.#read(() => this.#history.overview());
  }

  async removeOld(kind: Retained, before: Date, after: number) {
    const { rows, next } = await this.#read(() => this.#retaining.look(kind, before, after));
    const removed = rows.length > 0 ? await this.#write(() => this.#retaining.remove(kind, rows)) : 0;
    return { removed, next };
  }

  heldStates(sink: string, leads: readonly LeadKey[]) {
    return this.#read(() => this.#comparing.states(sink, leads));
  }

  deliveredLeads(sink: string, until: Date, after: number, limit: number) {
    return this.#read(() => this.#comparing.delivered(sink, until, after, limit));
  }

  async findPerson(subject: Subject, source?: string): Promise<Person> {
    if (subject.kind === 'lead') {
      const { lead } = subject;
      return this.#read(() => ({
        leads: this.#persons.leadsNamed(lead, source),
        rejected: this.#persons.rejectedNamed(lead, source),
      }));
    }
    const leads = await this.#searched((after) => this.#persons.leads(subject, source, after));
    const rejected = await this.#searched((after) => this.#persons.rejected(subject, source, after));
    const named = [...leads, ...rejected.flatMap(({ lead }) => lead ?? [])];
    const byName = new Map(named.map((lead) => [`${lead.source} ${lead.leadId}`, lead]));
    return { leads: [...byName.values()], rejected: rejected.map(({ no }) => no) };
  }

  personRecord(person: Person) {
    return this.#read(() => this.#subjectRows.of(person));
  }

  async erase(person: Person, tell: readonly string[]): Promise<Erased> {
    const setAside = await this.#write(() => this.#erasing.begin(person));
    const parts: Erased[] = [];
    for (const lead of person.leads) parts.push(await this.#write(() => this.#erasing.lead(lead, tell)));
    const sum = (of: (part: Erased) => number) => parts.reduce((total, part) => total + of(part), 0);
    return {
      versions: sum((part) => part.versions),
      rejected: sum((part) => part.rejected) + setAside,
      attempts: sum((part) => part.attempts),
      skipped: sum((part) => part.skipped),
      underWay: sum((part) => part.underWay),
    };
  }

  toldErasure(leads: readonly LeadKey[]) {
    return this.#read(() => this.#erasing.told(leads));
  }

  unfinishedErasures() {
    return this.#read(() => this.#erasing.unfinished());
  }

  finishErasing(leads: readonly LeadKey[]) {
    return this.#write(() => this.#erasing.finish(leads));
  }

  scrub(): Promise<boolean> {
    return this.#guard(async () => scrub(this.#db));
  }

  async #searched<T>(
    part: (after: number) => { readonly found: readonly T[]; readonly next: number | undefined },
  ): Promise<T[]> {
    const all: T[] = [];
    let after = 0;
    await inTurns(async () => {
      const { found, next } = await this.#read(() => part(after));
      all.push(...found);
      after = next ?? after;
      return next === undefined;
    });
    return all;
  }

  pause(sink: string, reason: string) {
    return this.#write(() => this.#amending.pause(sink, reason));
  }

  resume(sink: string) {
    return this.#write(() => this.#amending.resume(sink));
  }

  async close(): Promise<void> {
    const unused = [...this.#begun.values()];
    this.#begun.clear();
    try {
      if (unused.length > 0) void this.#giveBack(unused);
      this.#commits.flush();
    } finally {
      this.#db.close();
    }
  }

  /** What was begun and not attempted is not to count as lost. When it cannot be told, it does: that harms little. */
  async #giveBack(unused: readonly Begun[]): Promise<void> {
    await this.#commits.run(() => unused.map((one) => this.#settling.giveBack(one))).catch(() => undefined);
  }

  #queueId(): string {
    return String(this.#db.prepare('SELECT id FROM _ledger').pluck().get());
  }

  async #write<T>(work: () => T): Promise<T> {
    return this.#noted(() => this.#commits.run(work));
  }

  /** For what always writes something: that it works shows that the disk takes it again. */
  async #recorded<T>(work: () => Promise<T>): Promise<T> {
    const result = await this.#noted(work);
    this.#failing = undefined;
    return result;
  }

  async #noted<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.#guard(work);
    } catch (error) {
      if (error instanceof LedgerError && error.passing) this.#failing = error;
      throw error;
    }
  }

  #read<T>(work: () => T): Promise<T> {
    return this.#guard(async () => this.#transactions.read(work));
  }

  #checked<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw toLedgerError(error, this.#db.name);
    }
  }

  async #guard<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw toLedgerError(error, this.#db.name);
    }
  }

  /** Changes when another connection commits (https://www.sqlite.org/pragma.html#pragma_data_version). */
  #readDataVersion(): unknown {
    return this.#db.pragma('data_version', { simple: true });
  }
}

/** Takes steps until one says that it was the last, and leaves others as much time between them as each has taken. */
async function inTurns(step: () => Promise<boolean>): Promise<void> {
  for (;;) {
    const startMs = performance.now();
    if (await step()) return;
    // A process that waits for the lock looks for it again after up to 25 ms, and finds it free by then.
    await sleep(Math.max(MOMENT_MS, performance.now() - startMs));
  }
}
