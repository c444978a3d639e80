import { type Document, parseAllDocuments, type YAMLParseError } from 'yaml';
import { explainYaml } from '../faults/explain-yaml.ts';
import type { FaultList } from '../faults/fault-list.ts';

const MAX_CHARACTERS = 256 * 1024;
/** Maximum size of a file, in bytes. A larger file has too many characters in any case. */
export const MAX_BYTES = 4 * MAX_CHARACTERS;

/** The result of parsing a file. */
interface ParsedYaml {
  /** Undefined if the text has none; then the faults say why. */
  readonly document: Document.Parsed | undefined;
  /** Whether the syntax has faults, so that the document may not be what the operator meant. */
  readonly isBroken: boolean;
}

const NOTHING: ParsedYaml = { document: undefined, isBroken: true };

/** Parses the syntax of YAML 1.2. Reports a second document as a fault. */
export function parseYaml(text: string, faults: FaultList): ParsedYaml {
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
    // YamlTree finds repeated keys, and can say where the first one is.
    uniqueKeys: false,
  });
  const [first, second] = documents;
  if (first === undefined || (first.contents === null && first.errors.length === 0)) {
    faults.addWhole('the configuration is empty', '`leadsync init` creates one');
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

/** The errors that occur once for each line of a wrongly indented part. */
const OF_INDENTATION = new Set(['TAB_AS_INDENT', 'BAD_INDENT']);

/**
 * Adds only the first fault of each line, because one mistake often breaks the rest of the line. Of consecutive lines with the same
 * indentation fault, adds only the first.
 */
function addSyntaxFaults(errors: readonly YAMLParseError[], text: string, faults: FaultList): void {
  const reported = new Map<number, string>();
  const lines = text.split('\n');
  for (const error of errors) {
    const offset = visibleOffset(error, text);
    const { line, col } = faults.lines.linePos(offset);
    const isRepeated = OF_INDENTATION.has(error.code) && reported.get(line - 1) === error.code;
    const isFirst = !reported.has(line) && !isRepeated;
    if (!reported.has(line)) reported.set(line, error.code);
    if (!isFirst) continue;
    const wholeLine = lines[line - 1] ?? '';
    const { column, message, hint } = explainYaml(error.code, {
      line: wholeLine,
      isAtStart: wholeLine.slice(0, col - 1).trim() === '',
      above: nearestText(lines, line - 2, -1),
      below: nearestText(lines, line, 1),
    });
    const begin = faults.lines.lineStarts[line - 1] ?? 0;
    faults.add(column === undefined ? offset : begin + column, [], message, hint);
  }
}

/** Returns the first line with text from an index on, upwards or downwards; an empty string if there is none. */
function nearestText(lines: readonly string[], from: number, step: 1 | -1): string {
  let at = from;
  while (lines[at]?.trim() === '') at += step;
  return lines[at] ?? '';
}

/** Returns the offset of an error, moved to visible text: past an indentation, and not below the last line with text. */
function visibleOffset(error: YAMLParseError, text: string): number {
  const blanks = /^ */.exec(text.slice(error.pos[0]))?.[0].length ?? 0;
  return Math.min(error.pos[0] + blanks, text.trimEnd().length);
}

/** Adds the fault of a file that is too large. */
export function addTooLarge(faults: FaultList): void {
  faults.addWhole('is larger than 256 kB', 'a configuration usually has a few kB: is this the right file?');
}
