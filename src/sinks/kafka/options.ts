import { z } from 'zod';
import { isLoopback, readHostAndPort } from '../../platform/http/address.ts';
import { builtOnce } from '../../platform/options/built-once.ts';
import { secret } from '../../platform/options/option-types.ts';
import type { OptionFault } from '../sink-type.ts';

/** The port of a broker whose address has none. */
const DEFAULT_PORT = 9092;
/** The names that Kafka allows (org.apache.kafka.common.internals.Topic). */
const TOPIC = /^(?!\.{1,2}$)[\w.-]{1,249}$/;

const WRONG_BROKERS =
  'must be the addresses of brokers, separated by commas and without a scheme: kafka-1.example.com:9092,kafka-2.example.com:9092';
const WRONG_TOPIC = 'must be the name of a topic: up to 249 letters, digits, dots, underscores and hyphens';

/** The address of a broker. */
export interface BrokerAddress {
  readonly host: string;
  readonly port: number;
}

/** Returns the addresses in the option `brokers`; undefined if one is not an address. */
export function readBrokers(text: string): readonly BrokerAddress[] | undefined {
  const brokers = text.split(',').map((part) => readHostAndPort(part.trim(), DEFAULT_PORT));
  return brokers.every((broker) => broker !== undefined) ? brokers : undefined;
}

/** Whether the text is a valid topic name. */
export function isTopic(text: string): boolean {
  return TOPIC.test(text);
}

/** Returns the schema of the options of a kafka sink, without those common to every sink. */
export const kafkaOptions = builtOnce(() =>
  z.strictObject({
    brokers: z
      .string()
      .refine((text) => readBrokers(text) !== undefined, WRONG_BROKERS)
      .describe(
        'The addresses of some brokers, separated by commas: `kafka-1.example.com:9092,kafka-2.example.com:9092`. leadsync asks them for the others. The default port is 9092.',
      ),
    topic: z.string().refine(isTopic, WRONG_TOPIC).describe('The topic to write to.'),
    create: z
      .boolean()
      .default(false)
      .describe(
        'Whether leadsync creates a topic that is missing, with the replication factor of the brokers. Needs Kafka 2.4 or newer and the right CREATE.',
      ),
    partitions: z
      .int()
      .min(1)
      .max(10_000)
      .optional()
      .describe(
        'The number of partitions of a topic that leadsync creates. Default: the number that the brokers are configured with.',
      ),
    tombstones: z
      .boolean()
      .default(false)
      .describe(
        'Whether an `erased` event is a record without a value, with which a compacted topic removes the earlier records of the lead. leadsync then creates topics as compacted.',
      ),
    compression: z
      .enum(['none', 'gzip', 'snappy', 'lz4', 'zstd'])
      .default('none')
      .describe('How records are compressed, in transit and on the brokers.'),
    tls: z.boolean().default(false).describe('Whether to connect with TLS.'),
    tls_ca: secret()
      .optional()
      .describe('The certificates of the authorities to trust, in PEM, in place of the public ones.'),
    tls_certificate: secret()
      .optional()
      .describe("leadsync's own certificate in PEM, for brokers that ask for one (mutual TLS)."),
    tls_key: secret().optional().describe('The private key of `tls_certificate`, in PEM.'),
    sasl: z
      .enum(['plain', 'scram-sha-256', 'scram-sha-512'])
      .default('plain')
      .describe('The SASL mechanism of the login. Applies with `username` and `password`.'),
    username: z.string().min(1).optional().describe('The name to log in with.'),
    password: secret().optional().describe('The password to log in with.'),
  }),
);

/** The options of a kafka sink after validation. */
export type KafkaOptions = z.output<ReturnType<typeof kafkaOptions>>;

/** Returns the faults in the combination of options. */
export function optionFaults(options: KafkaOptions, perLead: ReadonlySet<string>): readonly OptionFault[] {
  const { create, partitions, tls, tls_certificate, tls_key, username, password, tombstones } = options;
  const faults: OptionFault[] = [];
  const missing = (option: string, hint: string) => faults.push({ option, message: '', hint });
  if (username && !password) missing('password', 'add the password of `username`');
  if (password && !username) missing('username', 'add the name that belongs to `password`');
  if (tls_certificate && !tls_key) missing('tls_key', 'add the private key of `tls_certificate`');
  if (tls_key && !tls_certificate) missing('tls_certificate', 'add the certificate of `tls_key`');
  const ofTls = (['tls_ca', 'tls_certificate', 'tls_key'] as const).find((option) => options[option]);
  if (ofTls && !tls)
    faults.push({ option: ofTls, message: 'has no effect without TLS', hint: 'add `tls: true`' });
  if (partitions && !create)
    faults.push({
      option: 'partitions',
      message: 'applies only to a topic that leadsync creates',
      hint: 'add `create: true`, or remove `partitions`',
    });
  if (tombstones && perLead.has('topic_by'))
    faults.push({
      option: 'tombstones',
      message: 'cannot remove records from the topics of `topic_by`: only the id of an erased lead is left',
      hint: 'remove `tombstones` or `topic_by`',
    });
  return faults;
}

/** Returns a warning if leads, and possibly the password, cross the network unencrypted. */
export function optionWarnings({ brokers, tls, sasl, password }: KafkaOptions): readonly string[] {
  if (tls || (readBrokers(brokers) ?? []).every(({ host }) => isLoopback(host))) return [];
  const what = password && sasl === 'plain' ? 'leads and the password' : 'leads';
  return [
    `A broker is on another host, so ${what} cross the network unencrypted. Set \`tls: true\` if the brokers offer TLS.`,
  ];
}
