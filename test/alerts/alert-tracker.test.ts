import { describe, expect, test } from 'vitest';
import { type ActiveCondition, AlertTracker, type Evaluation } from '../../src/alerts/alert-tracker.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const START = Date.parse('2026-11-20T10:00:00.000Z');

/** A tracker on a time that the test moves. */
class Keeping {
  tracker = new AlertTracker([]);
  atMs = 0;
  readonly told: string[] = [];

  /** Lets time pass in steps of 15 s, with the same found each time. */
  pass(ms: number, state: Evaluation['state']): this {
    for (const endMs = this.atMs + ms; this.atMs < endMs; ) {
      this.atMs += 15_000;
      this.take(state);
    }
    return this;
  }

  take(state: Evaluation['state'], about = 'crm'): this {
    const judged: Evaluation = { condition: 'sink_held', about, state, over: 'crm takes leads again.' };
    for (const notice of this.tracker.take([judged], new Date(START + this.atMs)))
      this.told.push(`${Math.round(this.atMs / MINUTE)} ${notice.kind}`);
    return this;
  }

  /** As after a restart. */
  restart(): this {
    this.tracker = new AlertTracker(JSON.parse(JSON.stringify(this.tracker.entries)));
    return this;
  }
}

const wrong = (more: Partial<ActiveCondition> = {}): ActiveCondition => ({
  since: new Date(START),
  afterMs: 10 * MINUTE,
  what: 'crm is held.',
  next: 'Mend it.',
  ...more,
});

describe('the tracker of alerts', () => {
  test('reports once that a problem has begun, after it has lasted, and once that it is over, after a calm time', () => {
    const keeping = new Keeping().pass(2 * HOUR, wrong()).pass(HOUR, 'well');
    expect(keeping.told).toEqual(['10 begun', '125 over']);
  });

  test('reports again immediately if a warning has become critical, once, even after a restart', () => {
    const keeping = new Keeping().pass(12 * MINUTE, wrong({ severity: 'warning' })).restart();
    keeping
      .pass(HOUR, wrong({ severity: 'critical' }))
      .restart()
      .pass(HOUR, wrong({ severity: 'warning' }));
    expect(keeping.told).toEqual(['10 begun', '12 lasts']);
    expect(keeping.tracker.entries).toMatchObject([{ severity: 'warning', toldSeverity: 'critical' }]);
  });

  test('gives a notice the severity of the problem, or else the usual one of its condition', () => {
    const severityOf = (more: Partial<ActiveCondition>) => {
      const state = wrong({ afterMs: 0, ...more });
      const judged: Evaluation = { condition: 'sink_held', about: 'crm', state, over: 'over' };
      return new AlertTracker([]).take([judged], new Date(START)).map(({ severity }) => severity);
    };
    expect(severityOf({ severity: 'warning' })).toEqual(['warning']);
    expect(severityOf({})).toEqual(['critical']);
  });

  test('reports again within the day if the count has at least doubled, with the increase', () => {
    const keeping = new Keeping();
    const whats: string[] = [];
    const take = (count: number, ms: number) => {
      keeping.atMs += ms;
      const state = wrong({ afterMs: MINUTE, what: `${count} are dead.`, count });
      const judged: Evaluation = { condition: 'deliveries_dead', about: 'crm', state, over: 'over' };
      const notices = keeping.tracker.take([judged], new Date(START + keeping.atMs));
      whats.push(...notices.map(({ kind, what }) => `${kind}: ${what}`));
      keeping.restart();
    };
    take(12, 5 * MINUTE);
    take(23, 20 * MINUTE); // fewer than twice as many
    take(60, 20 * MINUTE);
    take(500, 10 * MINUTE); // too soon after the last notice
    take(500, 5 * MINUTE);
    take(500, 23 * HOUR);
    expect(whats).toEqual([
      'begun: 12 are dead.',
      'lasts: 60 are dead. 48 more since 2026-11-20 10:05 UTC.',
      'lasts: 500 are dead. 440 more since 2026-11-20 10:45 UTC.',
    ]);
  });

  test.each([
    ['since it was first found', undefined],
    ['since a time that now lies ahead', new Date(START)],
  ])('reports in time after the clock was set back, a problem that exists %s', (_, since) => {
    const state = wrong({ since });
    const keeping = new Keeping().pass(5 * MINUTE, state);
    keeping.atMs -= 24 * HOUR;
    keeping.pass(11 * MINUTE, state);
    expect(keeping.told).toEqual([`${5 - 24 * 60 + 10} begun`]);
  });

  test('sends the reminder and the end in time after the clock was set back', () => {
    const keeping = new Keeping().pass(HOUR, wrong());
    keeping.atMs -= 100 * HOUR;
    keeping.pass(25 * HOUR, wrong()).pass(MINUTE, 'well');
    keeping.atMs -= 100 * HOUR;
    keeping.pass(10 * MINUTE, 'well');
    expect(keeping.told.map((told) => told.split(' ')[1])).toEqual(['begun', 'lasts', 'over']);
  });

  test('reports when a problem ended, and how long it lasted', () => {
    const tracker = new AlertTracker([]);
    const judged = (state: Evaluation['state']): Evaluation[] => [
      { condition: 'sink_held', about: 'crm', state, over: 'crm takes leads again.' },
    ];
    const at = (ms: number) => new Date(START + ms);
    tracker.take(judged(wrong()), at(HOUR));
    tracker.take(judged('well'), at(2 * HOUR));
    const [over] = tracker.take(judged('well'), at(2 * HOUR + 5 * MINUTE));
    expect(over).toMatchObject({
      kind: 'over',
      since: at(0),
      at: at(2 * HOUR),
      what: 'crm takes leads again.',
    });
  });

  test('does not report a problem that does not last', () => {
    expect(new Keeping().pass(9 * MINUTE, wrong()).pass(HOUR, 'well').told).toEqual([]);
  });

  test('counts from when a problem was first found if its beginning is unknown', () => {
    const keeping = new Keeping().pass(HOUR, 'well').pass(11 * MINUTE, wrong({ since: undefined }));
    expect(keeping.told).toEqual(['70 begun']);
  });

  test('reminds once a day', () => {
    const keeping = new Keeping().pass(3 * 24 * HOUR, wrong());
    expect(keeping.told).toEqual(['10 begun', '1450 lasts', '2890 lasts']);
  });

  test('treats a problem that comes and goes as one alert', () => {
    const keeping = new Keeping();
    for (let i = 0; i < 50; i += 1)
      keeping.pass(11 * MINUTE, wrong({ since: undefined })).pass(4 * MINUTE, 'well');
    expect(keeping.told).toEqual(['10 begun']);
  });

  test('waits longer for calm the more often a problem has come back', () => {
    const keeping = new Keeping();
    for (let i = 0; i < 30; i += 1)
      keeping.pass(12 * MINUTE, wrong({ since: undefined })).pass(6 * MINUTE, 'well');
    // Two notices each time would be 60.
    expect(keeping.told.length).toBeLessThan(8);
    expect(keeping.told.filter((one) => one.endsWith('begun')).length).toBeLessThan(4);
  });

  test('forgets a problem that is over after a time', () => {
    const keeping = new Keeping().pass(HOUR, wrong({ afterMs: 0 })).pass(8 * HOUR, 'well');
    expect(keeping.tracker.entries).toEqual([]);
  });

  test('continues after a restart: reports nothing twice, and reports what is over', () => {
    const keeping = new Keeping()
      .pass(HOUR, wrong())
      .restart()
      .pass(HOUR, wrong())
      .restart()
      .pass(HOUR, 'well');
    expect(keeping.told).toEqual(['10 begun', '125 over']);
  });

  test('counts again from a restart if the problem was not yet reported, because the time of a stop does not count', () => {
    const keeping = new Keeping().pass(MINUTE, wrong({ since: undefined })).restart();
    keeping.atMs += 24 * HOUR;
    expect(keeping.pass(9 * MINUTE, wrong({ since: undefined })).pass(MINUTE, 'well').told).toEqual([]);
  });

  test('keeps the state of a problem while it cannot be determined', () => {
    const keeping = new Keeping().pass(HOUR, wrong()).pass(HOUR, 'unknown').pass(MINUTE, wrong());
    expect(keeping.told).toEqual(['10 begun']);
    expect(keeping.pass(HOUR, 'well').told).toEqual(['10 begun', '126 over']);
  });

  test('forgets a problem that is no longer watched', () => {
    const keeping = new Keeping().pass(HOUR, wrong());
    keeping.tracker.take([], new Date(START + keeping.atMs));
    expect(keeping.tracker.entries).toEqual([]);
  });

  test('tracks two sinks separately', () => {
    const keeping = new Keeping();
    const judged = (about: string): Evaluation => ({
      condition: 'sink_held',
      about,
      state: wrong(),
      over: '',
    });
    const notices = keeping.tracker.take([judged('crm'), judged('drop')], new Date(START + HOUR));
    expect(notices.map(({ about }) => about)).toEqual(['crm', 'drop']);
  });
});
