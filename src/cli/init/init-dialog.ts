import type { NewConfig } from '../../config/initial/new-config.ts';
import { sourceEntry } from '../../config/options/source-entry.ts';
import { mappingOptions } from '../../mapping/options.ts';
import { printable } from '../../platform/text/printable.ts';
import { didYouMean } from '../../platform/text/suggest.ts';
import { sinkTypes } from '../../sinks/registry.ts';
import type { SinkType } from '../../sinks/sink-type.ts';

/** A dialog with a user at a terminal. */
export interface Conversation {
  /** Shows a question and returns the typed line. */
  ask(question: string): Promise<string>;
  say(text: string): void;
}

/** Returns the fault of an answer, or undefined if it is valid. */
type Validator = (answer: string) => string | undefined;

const TYPES = sinkTypes.map(({ type }) => type);
const WIDTH = 78;
const VARIABLES = /\$\{[A-Za-z_]\w*\}/g;

/** Asks for the values of a first configuration. Repeats a question until the answer is valid. Asks for no secrets. */
export async function askForConfig(conversation: Conversation): Promise<NewConfig> {
  conversation.say(
    'These questions create a first configuration. Press Enter to accept the value in\n[ ]. Do not type secrets: write ${NAME} where an environment variable is to\nprovide the value.\n\n',
  );
  const one = (question: string, standard: string, validate: Validator) =>
    answerTo(conversation, question, standard, validate);
  const serviceUrl = await one(
    'Address of the lead listing service',
    'https://leads.example.com',
    sourceValidator('base_url'),
  );
  const every = await one('How often to poll for new leads', '30s', validateInterval);
  conversation.say(`${inLines(['Types', 'of', 'destinations:', ...separated(TYPES)])}\n`);
  const types = await one('Where to deliver leads (comma-separated types, or none)', 'csv', validateTypes);
  const sinks: Record<string, string> = {};
  for (const sinkType of typesIn(types)) {
    const { type, setup } = sinkType;
    sinks[type] = await one(`${type}: ${setup.question}`, setup.standard, sinkValidator(sinkType));
  }
  if (!typesIn(types).some(({ standardFields }) => standardFields)) return { serviceUrl, every, sinks };
  const country = await one(
    'Country of phone numbers without a country code, such as AU, or none',
    'none',
    validateRegion,
  );
  return { serviceUrl, every, sinks, region: country === 'none' ? undefined : country };
}

function separated(words: readonly string[]): string[] {
  return words.map((word, at) => (at === words.length - 1 ? word : `${word},`));
}

/** Joins words into lines of at most `WIDTH` characters. */
function inLines(words: readonly string[]): string {
  return words.reduce((text, word) => {
    const line = text.slice(text.lastIndexOf('\n') + 1);
    return text + (line.length + 1 + word.length > WIDTH ? '\n  ' : ' ') + word;
  });
}

async function answerTo(
  { ask, say }: Conversation,
  question: string,
  standard: string,
  validate: Validator,
): Promise<string> {
  for (;;) {
    const answer = (await ask(`${question} [${standard}]: `)).trim() || standard;
    const wrong = validate(answer);
    if (wrong === undefined) return answer;
    say(`  ${printable(wrong)}\n`);
  }
}

const sourceValidator =
  (option: 'base_url'): Validator =>
  (answer) =>
    faultOf(answer, (value) => sourceEntry.shape[option].safeParse(value));

const validateInterval: Validator = (answer) =>
  faultOf(answer, (value) => sourceEntry.shape.poll.safeParse({ every: value }));

const validateRegion: Validator = (answer) =>
  answer === 'none' ? undefined : faultOf(answer, (value) => mappingOptions.region.safeParse(value));

function sinkValidator({ options, setup }: SinkType): Validator {
  return (answer) =>
    faultOf(answer, (value) => options.shape[setup.option].safeParse(value)) ??
    secretIn(answer, setup.standard);
}

/**
 * Returns the fault of an answer: an invalid `${`, or what the option's schema finds; undefined if there is none. Does not apply the schema
 * to an answer with a variable, because the value of the variable is not known yet.
 */
function faultOf(
  answer: string,
  parse: (value: string) => { error?: { issues: readonly { message: string }[] } | undefined } | undefined,
): string | undefined {
  if (answer.replaceAll(VARIABLES, '').includes('${')) return 'It contains an invalid ${: write ${NAME}.';
  if (answer.search(VARIABLES) !== -1) return undefined;
  const message = parse(answer)?.error?.issues[0]?.message;
  return message === undefined ? undefined : `It ${message}.`;
}

/** Returns a message if an answer may contain a secret, because no secret belongs in the file; undefined otherwise. */
function secretIn(answer: string, standard: string): string | undefined {
  const isKey = /TOKEN|KEY/.test(standard) && answer.replaceAll(VARIABLES, '') !== '';
  if (isKey)
    return `It is a secret, which does not belong in the file: write ${standard}, and set that variable.`;
  const hasPassword = /\/\/[^/@]*:[^/@]*@/.test(answer.replaceAll(VARIABLES, ''));
  if (!hasPassword && !/[?&][^=]*=(?!\$\{)/.test(answer)) return undefined;
  return 'It may contain a secret, which does not belong in the file: write ${NAME}, and set that variable to the whole address.';
}

function typesIn(answer: string): readonly SinkType[] {
  const words = answer.split(/[\s,]+/);
  return sinkTypes.filter(({ type }) => words.includes(type));
}

const validateTypes: Validator = (answer) => {
  const unknown = answer
    .split(/[\s,]+/)
    .find((word) => word !== '' && word !== 'none' && !TYPES.includes(word));
  if (unknown === undefined) return undefined;
  return `There is no type "${unknown}"${didYouMean(unknown, TYPES) ? `: ${didYouMean(unknown, TYPES)}` : `; the types are ${TYPES.join(', ')}.`}`;
};
