import { type Document, parseAllDocuments, type YAMLParseError } from 'yaml';
import type { FaultList } from '../faults/fault-list.ts';

const MAX_CHARACTERS = 256 * 1024;
/** A file with more bytes has too many characters, however they are encoded. */
export const MAX_BYTES = 4 * MAX_CHARACTERS;

/** The one document of a text. */
interface Parsed {
  /** Undefined when there is none, and the faults say why. */
  readonly document: Document.Parsed | undefined;
  /** Its syntax has faults: what was made of it may not be what was meant. */
  readonly isBroken: boolean;
}

const NOTHING: Parsed = { document: undefined, isBroken: true };

/** Reads YAML 1.2 as far as its syntax goes. When a later document was left out, the faults say so. */
export function parseYaml(text: string, faults: FaultList): Parsed {
  if (text.length > MAX_CHARACTERS) {
    addTooLarge(faults);
    return NOTHING;
  }
  const documents = parseAllDocuments(text, {
    lineCounter: faults.lines,
    version: '1.2',
    schema: 'core',
    merge: false,
    resolveKnownTags: false,
    prettyErrors: false,
    // Our own walk finds repeated keys, and can say where the first one is.
    uniqueKeys: false,
  });
  const [first, second] = documents;
  if (first === undefined || (first.contents === null && first.errors.length === 0)) {
    faults.addWhole('the configuration is empty', '`leadsync init` writes one to begin with');
    return NOTHING;
  }
  if (second !== undefined) {
    faults.add(
      second.range[0],
      [],
      'a second document begins here',
      'a configuration is one document: remove the ---',
    );
  }
  const isBroken = documents.some((document) => document.errors.length > 0);
  for (const document of documents) addSyntaxFaults(document.errors, text, faults);
  return { document: first, isBroken };
}

/** One mistake often breaks everything up to the end of its line, so only the first fault of a line is told. */
function addSyntaxFaults(errors: readonly YAMLParseError[], text: string, faults: FaultList): void {
  const told = new Set<number>();
  for (const error of errors) {
    const offset = placeOf(error, text);
    const { line } = faults.lines.linePos(offset);
    if (told.has(line)) continue;
    told.add(line);
    const wholeLine = text.split('\n')[line - 1] ?? '';
    faults.add(offset, [], ...wordsFor(error, wholeLine));
  }
}

/** Where there is something to see: not in an indentation, and not below the last line that has anything on it. */
function placeOf(error: YAMLParseError, text: string): number {
  const blanks = /^ */.exec(text.slice(error.pos[0]))?.[0].length ?? 0;
  return Math.min(error.pos[0] + blanks, text.trimEnd().length);
}

/** Our own words: the parser's may repeat what stands in the file, which may be a secret. */
function wordsFor({ code }: YAMLParseError, line: string): [message: string, hint: string] {
  const quotes = line.includes('${') ? 'put a value with ${…} in quotes' : 'put the value in quotes';
  switch (code) {
    case 'TAB_AS_INDENT':
      return ['a tab indents this line', 'YAML is indented by spaces only'];
    case 'BAD_DQ_ESCAPE':
      return ['a backslash in "…" begins no known escape', "write \\\\ for a backslash, or use '…'"];
    case 'BAD_SCALAR_START':
      return ['this character cannot begin a value', quotes];
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return [
        'this is no single "key: value"',
        `check the indentation and the space after each colon; ${quotes} if it has a colon`,
      ];
    case 'MISSING_CHAR':
      return [
        'something is missing here: a closing quote or bracket, a comma, or the colon after a key',
        quotes,
      ];
    case 'BAD_INDENT':
      return [
        'the indentation does not fit the lines above',
        'entries that belong together begin in the same column, and { and [ are closed',
      ];
    case 'UNEXPECTED_TOKEN':
      return [
        'this is not expected here',
        `check the indentation and the brackets; ${quotes} if it has one of { } [ ] , # :`,
      ];
    case 'RESOURCE_EXHAUSTION':
      return ['this is nested too deeply', 'is this the right file?'];
    default:
      return [`this is not valid YAML (${code})`, 'check this line and the one above'];
  }
}

/** Adds the fault of a configuration that has too many characters. */
export function addTooLarge(faults: FaultList): void {
  faults.addWhole('is larger than 256 kB', 'a configuration is a few kB: is this the right file?');
}
