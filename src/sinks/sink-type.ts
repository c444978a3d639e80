import type { z } from 'zod';
import type { LeadEvent } from '../leads/delivery.ts';
import type { MappedValue } from '../leads/mapped-fields.ts';
import type { LeadKey } from '../leads/person.ts';
import type { LeadCost } from '../leads/quota.ts';
import type { Clock } from '../platform/time/clock.ts';
import type { Sink } from './sink.ts';

/** What leadsync passes to every sink in addition to its options. */
export interface SinkParts {
  /** The sink's configured name. */
  readonly name: string;
  readonly clock: Clock;
  /** Maximum number of batches that are attempted at the same time; the size of connection pools. */
  readonly concurrency: number;
  /** Maximum deliveries per batch. 1 turns batching off. */
  readonly batchMax: number;
  /**
   * Maximum time for one request, transaction or file, in ms. A request ends with the headers of its answer or, for a request to an API, with
   * the whole answer.
   */
  readonly timeoutMs: number;
  /** The user agent, `leadsync/0.1.0`, for protocols that have one. */
  readonly userAgent: string;
  /** Returns the address of a lead's page, for messages to people; undefined if the pages have no public address. */
  leadUrl(lead: LeadKey): string | undefined;
}

/** The defaults of a sink type. */
export interface SinkDefaults {
  /** The events that are owed to the sink. Contains `erased` if a delivery can notify the destination of an erasure. */
  readonly events: readonly LeadEvent[];
  readonly batchMax: number;
  /** Maximum time that the oldest delivery waits for its batch to fill, in ms. */
  readonly batchWaitMs: number;
  readonly concurrency: number;
  readonly timeoutMs: number;
  /** The option `rate`, as written in a configuration: `1/s`. Absent if there is no maximum. */
  readonly rate?: string;
}

/** The question that `leadsync init` asks for a sink type, and the entry that it writes into a first configuration. */
export interface SinkSetup {
  /** The option that `init` asks for. Its schema validates the answer. */
  readonly option: string;
  /** The question: `the folder to drop files in`. */
  readonly question: string;
  /** The default answer. May refer to an environment variable: `${NAME}`. */
  readonly standard: string;
  /**
   * Returns the entry in `sinks`, in lines that begin with two spaces. `answer` is YAML. `region` is the country of phone numbers without a
   * country code, for types with `standardFields`.
   */
  entry(answer: string, region?: string): string;
  /** Whether deliveries fail until `leadsync setup` has prepared the destination. Default: no. */
  readonly needsSetup?: boolean;
}

/** An option of a sink that has a value for each lead. */
export interface PerLeadOption {
  /** One sentence for the option reference. */
  readonly means: string;
  /** Whether a configuration without the option is invalid. */
  readonly required?: boolean;
  /** Returns why a constant cannot be the value, as a phrase with the operator's next step; undefined if it can. */
  fault?(constant: MappedValue): string | undefined;
}

/** A field that a sink has without an entry in `fields`: an expression with its rules. */
export interface StandardField {
  readonly from: string;
  /** Whether the field is sent with the event `created` only. Default: no. */
  readonly once?: boolean;
  /** Maximum number of characters; a longer text is cut. */
  readonly max?: number;
}

/** An invalid combination of options. */
export interface OptionFault {
  /** The option to show. If the configuration lacks it, the fault is that it is missing. */
  readonly option: string;
  /** What is wrong, as a phrase. */
  readonly message: string;
  /** The operator's next step. */
  readonly hint: string;
}

/** Opens a sink of a type, without connecting to its destination. */
export type OpenFunction<Options extends z.ZodObject = z.ZodObject> = (
  options: z.output<Options>,
  parts: SinkParts,
) => Sink;

/** A type of sink: its name in YAML, its options, and how to open one. */
export interface SinkType<Options extends z.ZodObject = z.ZodObject> {
  readonly type: string;
  /** One sentence for the option reference. */
  readonly summary: string;
  /** The options of this type, without those common to every sink. Each has a description. */
  readonly options: Options;
  /**
   * Returns why the sink cannot accept a field of this name, as a phrase that follows the name; undefined if it can. `options` is undefined if
   * the options themselves are invalid.
   */
  fieldFault?(name: string, options: z.output<Options> | undefined): string | undefined;
  /**
   * The options that have a value for each lead, such as the channel of a message: an expression or a constant in the configuration. `deliver`
   * gets their values in `Delivery.perLead`.
   */
  readonly perLead?: Readonly<Record<string, PerLeadOption>>;
  /**
   * Returns the fields that the sink has unless the option `fields` replaces them by fields of the same names. `region` is the country of phone
   * numbers, if it is configured. Absent if the sink gets leads as received.
   */
  standardFields?(
    options: z.output<Options>,
    region: string | undefined,
  ): Readonly<Record<string, StandardField>>;
  /**
   * Returns the share of the destination's daily limit that new leads use, in batches of at most `batchMax` leads. Absent if destinations of this
   * type have no such limit.
   */
  leadCost?(options: z.output<Options>, batchMax: number): LeadCost;
  /** Returns a sentence on what a successful `Sink.check` has shown. The sentence says that nothing was sent, where the check sends nothing. */
  checked(options: z.output<Options>): string;
  /** What only `Sink.test`, and not `Sink.check`, can show about a destination of this type, as a phrase: `whether …`. */
  readonly shownByTest?: string;
  /** Names of the options that are paths. A relative path is relative to the folder of the configuration. */
  readonly paths?: readonly string[];
  /**
   * Names of the options that identify the destination, none of them secret. After such an option has changed, an erasure reports
   * that it did not reach the former destination.
   */
  readonly place?: readonly string[];
  /** Returns a sentence for each option that is valid but probably a mistake. The sentences contain no secrets. */
  warnings?(options: z.output<Options>): readonly string[];
  /** Returns the faults in options that are each valid on their own. `perLead` contains the names of those options in `perLead` that are set. */
  faults?(options: z.output<Options>, perLead: ReadonlySet<string>): readonly OptionFault[];
  readonly defaults: SinkDefaults;
  /** Returns the defaults that differ for a sink with these options, which are as written in the configuration and not validated. */
  defaultsFor?(written: Readonly<Record<string, unknown>>): Partial<SinkDefaults>;
  readonly setup: SinkSetup;
  /** Loads the code that only deliveries and questions to the destination need, and returns the function that opens a sink. */
  load(): Promise<OpenFunction<Options>>;
}

/** Returns the defaults of a sink with these options, which are as written in the configuration and not validated. */
export function defaultsOf(
  { defaults, defaultsFor }: Pick<SinkType, 'defaults' | 'defaultsFor'>,
  written: unknown,
): SinkDefaults {
  if (typeof written !== 'object' || written === null) return defaults;
  return { ...defaults, ...defaultsFor?.(written as Readonly<Record<string, unknown>>) };
}

/** Returns `type`. Infers the type of the options from their schema, so that `load` and `warnings` are typed. */
export function defineSink<Options extends z.ZodObject>(type: SinkType<Options>): SinkType<Options> {
  return type;
}
