import type { z } from 'zod';
import type { Batch, Delivery } from '../../leads/delivery.ts';
import { mappedText } from '../../leads/mapped-fields.ts';
import type { Delivered, Outcome, Refused } from '../../leads/outcome.ts';
import { attemptParts } from '../attempt-parts.ts';
import type { CallLimits } from '../http/api-server.ts';
import { leadMessage } from '../lead-message.ts';
import { type AttemptUnderWay, type Preview, type Sink, type TestResult, WITHOUT_LEASE } from '../sink.ts';
import type { SinkParts } from '../sink-type.ts';
import { SinkUnavailable } from '../sink-unavailable.ts';
import { IncomingWebhook } from './incoming-webhook.ts';
import { WrongChannel } from './judge-answer.ts';
import { type Entry, messagesOf, payloadOf } from './message.ts';
import { channelId, type slackOptions } from './options.ts';
import { SlackApi } from './slack-api.ts';
import type { SlackTransport } from './slack-transport.ts';

/** A lead on its way to a channel. */
interface Item extends Entry {
  readonly channel: string;
}

const NO_CHANNEL: Refused = {
  kind: 'refused',
  reason: 'The expression `channel` gives no channel id, such as C0123456789, for this lead.',
  unsent: true,
};

/** Posts through an incoming webhook or, with a token, through the API, which can also search for a message that may have arrived. */
export class SlackSink implements Sink {
  readonly #parts: SinkParts;
  readonly #way: SlackTransport;
  readonly #api: SlackApi | undefined;

  constructor({ token, url, api_url }: z.output<ReturnType<typeof slackOptions>>, parts: SinkParts) {
    this.#parts = parts;
    this.#api = token && new SlackApi(api_url, token, parts);
    const way = this.#api ?? (url && new IncomingWebhook(url, parts));
    if (!way) throw new Error('the configuration has neither token nor url');
    this.#way = way;
  }

  async check(signal: AbortSignal): Promise<void> {
    await this.#way.check(signal);
  }

  async deliver(
    batch: Batch,
    stop: AbortSignal,
    under: AttemptUnderWay = WITHOUT_LEASE,
  ): Promise<readonly Outcome[]> {
    const limits = { stop, confirmLease: under.confirmLease, sendsLeads: true };
    const { messages, outcomes } = await this.#plan(batch, limits);
    const ofChannel = new Set<Refused>();
    const attempt = async (items: readonly Item[]) => {
      const outcome = await this.#post(items, limits);
      if (!(outcome instanceof WrongChannel)) return outcome;
      ofChannel.add(outcome.outcome);
      return outcome.outcome;
    };
    const partMs = this.#parts.timeoutMs;
    const blamesOneItem = (refused: Refused) => !ofChannel.has(refused);
    const posted = await attemptParts(messages, attempt, { under, partMs, blamesOneItem }).catch((error) => {
      if (!(error instanceof SinkUnavailable) || outcomes.size === 0) throw error;
      return failedOutcomes(messages, error);
    });
    for (const [index, { delivery }] of messages.flat().entries()) {
      const outcome = posted[index];
      if (outcome) outcomes.set(delivery, outcome);
    }
    return batch.deliveries.map((delivery) => outcomes.get(delivery) ?? { kind: 'untried' });
  }

  async test({ deliveries: [delivery] }: Batch, stop: AbortSignal): Promise<TestResult> {
    if (!delivery) throw new Error('a batch is never empty');
    const facts = await this.#api?.check(stop);
    const channel = this.#channelOf(delivery);
    if (channel === undefined)
      return {
        arrived: false,
        what: `${NO_CHANNEL.reason} The test lead has the service "leadsync-test": use default(…, "C0123456789") for other services.`,
      };
    const item = this.#itemOf(delivery, channel, { isTest: true });
    const outcome = await this.#post([item], { stop, confirmLease: () => undefined, sendsLeads: true });
    if (outcome instanceof WrongChannel) return { arrived: false, what: outcome.outcome.reason };
    if (outcome.kind === 'refused') return { arrived: false, what: outcome.reason };
    const canSearch = facts?.scopes?.some((scope) => /^(channels|groups):history$/.test(scope)) ?? true;
    return {
      arrived: true,
      what: [
        `${this.#way.origin} posted the test message${facts ? ` as ${facts.who} to ${channel}` : ''}.`,
        ...(canSearch
          ? []
          : [
              'The app lacks the scope channels:history, so leadsync cannot check whether it has posted a message. If an answer is lost, the message may arrive twice.',
            ]),
      ].join(' '),
    };
  }

  preview(batch: Batch): readonly Preview[] {
    const items = batch.deliveries.flatMap((delivery) => {
      const channel = this.#channelOf(delivery);
      const mayRepeat = delivery.mayHaveArrived === true && this.#api === undefined;
      return channel === undefined ? [] : [this.#itemOf(delivery, channel, { mayRepeat })];
    });
    const unsent = batch.deliveries.length - items.length;
    return [
      ...this.#messagesOf(items).map((message) => ({
        target: this.#way.target(),
        fields: this.#way.headers(),
        content: this.#bodyOf(message),
      })),
      ...Array.from({ length: unsent }, () => ({
        target: 'no message',
        fields: {},
        content: NO_CHANNEL.reason,
      })),
    ];
  }

  close(): Promise<void> {
    return this.#way.close();
  }

  /**
   * Returns the messages to post, and the outcomes of the leads that need none: those without a channel, and those whose message is already
   * in the channel. @throws SinkUnavailable if Slack cannot be asked now
   */
  async #plan(
    { deliveries }: Batch,
    limits: CallLimits,
  ): Promise<{ messages: readonly (readonly Item[])[]; outcomes: Map<Delivery, Outcome> }> {
    const outcomes = new Map<Delivery, Outcome>();
    const messages: (readonly Item[])[] = [];
    for (const [channel, leads] of Map.groupBy(deliveries, (delivery) => this.#channelOf(delivery))) {
      if (channel === undefined) {
        for (const lead of leads) outcomes.set(lead, NO_CHANNEL);
        continue;
      }
      const unsure = leads.filter(({ mayHaveArrived }) => mayHaveArrived);
      const found =
        unsure.length === 0
          ? undefined
          : await this.#way.find(channel, unsure, { ...limits, sendsLeads: false });
      for (const lead of unsure) {
        const ref = found?.messages.get(lead.id);
        if (ref) outcomes.set(lead, { kind: 'delivered', ref });
      }
      const items = leads
        .filter((lead) => !outcomes.has(lead))
        .map((lead) =>
          this.#itemOf(lead, channel, { mayRepeat: lead.mayHaveArrived === true && found?.isWhole !== true }),
        );
      messages.push(...this.#messagesOf(items));
    }
    return { messages, outcomes };
  }

  /** Divides leads into messages, each to one channel. */
  #messagesOf(items: readonly Item[]): readonly (readonly Item[])[] {
    // A stored batch may hold more leads than the configuration now allows.
    if (this.#parts.batchMax === 1) return items.map((item) => [item]);
    return [...Map.groupBy(items, ({ channel }) => channel).values()].flatMap(messagesOf);
  }

  async #post(items: readonly Item[], limits: CallLimits): Promise<Delivered | Refused | WrongChannel> {
    const judged = await this.#way.post(this.#bodyOf(items), limits);
    if (judged instanceof SinkUnavailable) throw judged;
    return judged;
  }

  #bodyOf(items: readonly Item[]): string {
    const deliveries = items.map(({ delivery }) => delivery);
    return this.#way.bodyOf(payloadOf(items), items[0]?.channel ?? '', deliveries);
  }

  #itemOf(
    delivery: Delivery,
    channel: string,
    { isTest = false, mayRepeat = false }: { isTest?: boolean; mayRepeat?: boolean },
  ): Item {
    const { leadUrl } = this.#parts;
    const title = mappedText(delivery.perLead?.get('title'));
    return { delivery, channel, mayRepeat, message: leadMessage(delivery, { title, isTest, leadUrl }) };
  }

  /** Returns the channel for a lead; undefined if the expression gives none. An incoming webhook has one channel without a name. */
  #channelOf({ perLead }: Delivery): string | undefined {
    if (!this.#api) return '';
    return channelId(perLead?.get('channel'));
  }
}

/** Returns the outcomes for messages of which the first failed and the others were not tried. */
function failedOutcomes(messages: readonly (readonly Item[])[], error: SinkUnavailable): Outcome[] {
  const failed = error.toOutcome();
  return messages.flatMap((items, index) =>
    items.map(() => (index === 0 ? failed : { ...failed, unsent: true })),
  );
}
