import type { Ask } from './problem-watch.ts';

/** What a person does through the API. */
export class Operator {
  readonly #ask: Ask;

  constructor(ask: Ask) {
    this.#ask = ask;
  }

  async pause(sink: string, reason: string): Promise<void> {
    await this.#ask('POST', `/sinks/${sink}/pause`, { reason });
  }

  async resume(sink: string): Promise<void> {
    await this.#ask('POST', `/sinks/${sink}/resume`);
  }

  /** Replays the leads that a sink got last. If it has got none, does nothing. */
  async replayLast(sink: string, leads: number): Promise<void> {
    const { rows } = (await this.#ask('GET', `/deliveries?sink=${sink}&state=delivered&limit=${leads}`)) as {
      readonly rows: readonly { readonly delivery_id: string }[];
    };
    const ids = rows.map(({ delivery_id }) => delivery_id);
    if (ids.length > 0) await this.#ask('POST', `/sinks/${sink}/replay`, { ids });
  }

  async cancelReplay(sink: string): Promise<void> {
    await this.#ask('POST', `/sinks/${sink}/cancel-replay`);
  }
}
