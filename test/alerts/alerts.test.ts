import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { Alerts } from '../../src/alerts/alerts.ts';
import { type AlertOptions, alertOptions } from '../../src/alerts/options.ts';
import { StoredAlerts } from '../../src/alerts/stored-alerts.ts';
import { nameOption } from '../../src/config/options/option-limits.ts';
import { HEALTHY } from '../../src/leads/sink-health.ts';
import { DocumentFolder } from '../../src/platform/files/document-folder.ts';
import { disk } from '../../src/platform/files/file-system.ts';
import { evaluateConditions } from '../../src/status/problems/alert-conditions.ts';
import type { AlertInputs } from '../../src/status/problems/alert-inputs.ts';
import { Reported } from '../daemon/joints/fakes.ts';
import { anObservation, aSink } from '../status/an-observation.ts';
import { tempDir } from '../support/files/temp-dir.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../support/servers/webhook-receiver.ts';
import { HeldClock } from '../support/time/held-clock.ts';
import { until } from '../support/time/until.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** An installation without a name and an address of its pages. */
const NAMELESS = { name: undefined, url: undefined };

/** Alerts that look every 15 s on a clock that is held, and tell a receiver of the test's own. */
class Watch {
  readonly clock = new HeldClock();
  readonly reported = new Reported();
  readonly receiver: WebhookReceiver;
  readonly file = join(tempDir(), 'alerts.json');
  options: AlertOptions;
  files = disk;
  /** The sinks that are held at this moment. */
  readonly held = new Map<string, Date>();
  #alerts: Alerts | undefined;

  constructor(receiver: WebhookReceiver, when: object = {}) {
    this.receiver = receiver;
    this.options = optionsOf({
      to: { ops: { type: 'webhook', url: receiver.url } },
      when: { sink_held: '1m', ...when },
    });
  }

  static async start(when: object = {}): Promise<Watch> {
    const receiver = await startWebhookReceiver();
    const watch = new Watch(receiver, when);
    onTestFinished(async () => {
      await watch.stop();
      await receiver.close();
    });
    return watch;
  }

  /** Lets time pass, a look every 15 s; after each, what is being sent has been answered. */
  async pass(ms: number): Promise<this> {
    const { clock, reported } = this;
    const parts = {
      clock,
      store: new StoredAlerts(new DocumentFolder(this.files, dirname(this.file))),
      emit: reported.emit,
    };
    this.#alerts ??= await Alerts.open(parts);
    for (let passed = 0; passed < ms; passed += 15 * SECOND) {
      clock.jump(15 * SECOND);
      const names = { sources: [], sinks: ['crm', 'drop', 'warehouse'], exports: [], backups: [] };
      const observed = this.#observed();
      await this.#alerts.take(evaluateConditions(observed, names, this.options.when), observed.at, {
        options: this.options,
        from: NAMELESS,
      });
      await this.#alerts.idle();
    }
    return this;
  }

  #observed(): AlertInputs {
    const sinks = ['crm', 'drop', 'warehouse'].map((name) => {
      const heldSince = this.held.get(name);
      // After a 401, a hold is critical from the start.
      const held = heldSince && { heldSince, heldReason: 'It answered 401.', heldStatus: 401 };
      return aSink({ name, health: { ...HEALTHY, ...held } });
    });
    return anObservation({ at: this.clock.now(), sinks });
  }

  hold(...names: string[]): this {
    for (const name of names) this.held.set(name, this.clock.now());
    return this;
  }

  async stop(): Promise<void> {
    await this.#alerts?.stop();
    this.#alerts = undefined;
  }

  /** Every message that arrived, as what it says of whom. */
  get told(): string[][] {
    return this.receiver.received
      .filter(({ status }) => status === 204)
      .map(({ body }) =>
        JSON.parse(String(body)).notices.map(
          ({ state, about }: Record<string, string>) => `${state} ${about}`,
        ),
      );
  }
}

function optionsOf(written: object): AlertOptions {
  return alertOptions(nameOption).parse(written);
}

describe('alerts', () => {
  test('send one message when a problem begins, and one when it is over', async () => {
    const watch = await Watch.start();
    await watch.hold('crm').pass(HOUR);
    watch.held.clear();
    await watch.pass(HOUR);
    expect(watch.told).toEqual([['begun crm'], ['over crm']]);
    expect(watch.reported.of('alert')).toMatchObject([
      { condition: 'sink_held', about: 'crm', lasts: false },
    ]);
    expect(watch.reported.of('alert-over')).toMatchObject([{ about: 'crm' }]);
  });

  test('put problems that begin within half a minute into one message', async () => {
    const watch = await Watch.start();
    await watch.hold('crm').pass(15 * SECOND);
    await watch.hold('drop', 'warehouse').pass(HOUR);
    expect(watch.told).toEqual([['begun crm', 'begun drop', 'begun warehouse']]);
  });

  test('never send more than one message a minute to one destination', async () => {
    const watch = await Watch.start({ sink_held: '0s' });
    await watch.hold('crm').pass(30 * SECOND);
    await watch.hold('drop').pass(15 * SECOND);
    await watch.hold('warehouse').pass(10 * MINUTE);
    expect(watch.told).toEqual([['begun crm', 'begun drop'], ['begun warehouse']]);
    const [first, second] = watch.receiver.received.map(({ headers }) =>
      Number(headers['webhook-timestamp']),
    );
    expect(Number(second) - Number(first)).toBeGreaterThanOrEqual(60);
  });

  test('continue after a restart: send nothing twice, and send what was not sent', async () => {
    const watch = await Watch.start();
    watch.receiver.answerAlways(503);
    await watch.hold('crm').pass(5 * MINUTE);
    await watch.stop();
    watch.receiver.answerAlways(204);
    await watch.pass(HOUR);
    expect(watch.told).toEqual([['begun crm']]);
    await watch.stop();
    await watch.pass(HOUR);
    expect(watch.told).toEqual([['begun crm']]);
  });

  test('try a destination that is down again after growing pauses, with the same message', async () => {
    const watch = await Watch.start();
    watch.receiver.answerAlways(503);
    await watch.hold('crm').pass(3 * HOUR);
    const pauses = watch.reported.of('alert-unsent').map(({ retryInMs }) => retryInMs / SECOND);
    expect(pauses).toEqual([30, 60, 120, 240, 480, 960, 1920, 3600, 3600]);
    expect(new Set(watch.receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  });

  test('send one notice for a problem that is over when the destination is back', async () => {
    const watch = await Watch.start();
    watch.receiver.answerAlways(503);
    await watch.hold('crm').pass(HOUR);
    watch.held.clear();
    await watch.pass(HOUR);
    watch.receiver.answerAlways(204);
    await watch.pass(2 * HOUR);
    expect(watch.told).toEqual([['over crm']]);
  });

  test('reach one destination while another hangs', async () => {
    const watch = await Watch.start();
    const hanging = await startWebhookReceiver();
    onTestFinished(() => hanging.close());
    hanging.answerAlways(() => undefined);
    watch.options = optionsOf({
      to: { gone: { type: 'webhook', url: hanging.url }, ops: { type: 'webhook', url: watch.receiver.url } },
      when: { sink_held: '0s' },
    });
    const alerts = await Alerts.open({
      clock: watch.clock,
      store: new StoredAlerts(new DocumentFolder(disk, dirname(watch.file))),
      emit: watch.reported.emit,
    });
    const look = async (at: Date) => {
      const sink = aSink({ health: { ...HEALTHY, heldSince: at, heldReason: 'It is down.' } });
      const observed = anObservation({ at, sinks: [sink] });
      const names = { sources: [], sinks: ['crm'], exports: [], backups: [] };
      await alerts.take(evaluateConditions(observed, names, watch.options.when), at, {
        options: watch.options,
        from: NAMELESS,
      });
    };
    await look(watch.clock.now());
    watch.clock.jump(MINUTE);
    await look(watch.clock.now());
    await until('the other is told', () => watch.told.length === 1);
    const stopped = alerts.stop();
    await watch.clock.pass(SECOND);
    await stopped; // a stop waits no longer than that for what hangs
  });

  test('send what waits to the new address immediately after a reload', async () => {
    const watch = await Watch.start();
    const next = await startWebhookReceiver();
    onTestFinished(() => next.close());
    watch.receiver.answerAlways(410);
    await watch.hold('crm').pass(HOUR);
    watch.options = optionsOf({ to: { ops: { type: 'webhook', url: next.url } }, when: { sink_held: '1m' } });
    await watch.pass(30 * SECOND);
    expect(next.received).toHaveLength(1);
  });

  test('forget a condition that is switched off, without a message', async () => {
    const watch = await Watch.start();
    await watch.hold('crm').pass(HOUR);
    watch.options = { ...watch.options, when: { ...watch.options.when, sink_held: undefined } };
    watch.held.clear();
    await watch.pass(HOUR);
    expect(watch.told).toEqual([['begun crm']]);
  });

  test('that arrived are stored as sent immediately, so that a process that is killed then does not send them again', async () => {
    const watch = await Watch.start();
    watch.hold('crm');
    while (watch.told.length === 0) await watch.pass(15 * SECOND);
    await until('it is kept', () => JSON.parse(readFileSync(watch.file, 'utf8')).waiting.ops.length === 0);
    const kept = readFileSync(watch.file, 'utf8');
    await watch.stop();
    writeFileSync(watch.file, kept);
    await watch.pass(HOUR);
    expect(watch.told).toEqual([['begun crm']]);
  });

  test('start without a state if their file cannot be read', async () => {
    const watch = await Watch.start();
    await watch.hold('crm').pass(HOUR);
    await watch.stop();
    writeFileSync(watch.file, readFileSync(watch.file, 'utf8').slice(0, -20));
    await watch.pass(HOUR);
    expect(watch.told).toEqual([['begun crm'], ['begun crm']]);
  });

  test('continue while their file cannot be written, which is reported once', async () => {
    const watch = await Watch.start();
    watch.files = {
      ...disk,
      create: async () => {
        throw Object.assign(new Error('no space'), { code: 'ENOSPC' });
      },
    };
    await watch.hold('crm').pass(HOUR);
    expect(watch.told).toEqual([['begun crm']]);
    expect(watch.reported.of('alerts-unkept')).toEqual([{ type: 'alerts-unkept', reason: 'ENOSPC' }]);
  });
});
