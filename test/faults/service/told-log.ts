import type { EventType } from '../../../src/telemetry/events.ts';

/** A line of leadsync's log. */
export type ToldEvent = Readonly<Record<string, unknown>>;

/** Indexes leadsync's log as it arrives, for tests that query it often and for many sources. */
export class ToldLog {
  readonly #events = new Map<string, ToldEvent[]>();
  #rest = '';

  /** Adds a chunk of standard error. */
  readonly add = (text: string): void => {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines) this.#addLine(line);
  };

  /** Returns the events of a type about a source or sink, oldest first. */
  of(type: EventType, about: string): readonly ToldEvent[] {
    return this.#events.get(`${type} ${about}`) ?? [];
  }

  #addLine(line: string): void {
    if (!line.startsWith('{')) return;
    const event = JSON.parse(line) as ToldEvent;
    const key = `${event['event']} ${event['source'] ?? event['sink'] ?? ''}`;
    this.#events.set(key, [...(this.#events.get(key) ?? []), event]);
  }
}
