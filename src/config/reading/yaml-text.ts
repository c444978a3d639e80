import { type Document, parseAllDocuments, type YAMLParseError } from 'yaml';
import type { FaultList } from '../faults/fault-list.ts';

const MAX_CHARACTERS = 256 * 1024;
/** Maximum size of a file, in bytes. A larger file has too many characters in any case. */
export const MAX_BYTES = 4 * MAX_CHARACTERS;

/** The result of parsing a text. */
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

/** Adds only the first fault of a line, because one mistake often breaks the rest of its line. */
function addSyntaxFaults(errors: readonly YAMLParseError[], text: string, faults: FaultList): void {
  const reported = new Set<number>();
  for (const error of errors) {
    const offset = visibleOffset(error, text);
    const { line } = faults.lines.linePos(offset);
    if (reported.has(line)) continue;
    reported.add(line);
    const wholeLine = text.split('\n')[line - 1] ?? '';
    const ofExpression = BREAKS_EXPRESSIONS.has(error.code) ? expressionFault(wholeLine) : undefined;
    if (!ofExpression) faults.add(offset, [], ...messageFor(error, wholeLine));
    else {
      const { message, hint, isAtValue } = ofExpression;
      const begin = faults.lines.lineStarts[line - 1] ?? 0;
      faults.add(isAtValue ? begin + wholeLine.search(/(?<=:\s+)\S/) : offset, [], message, hint);
    }
  }
}

/** Returns the offset of an error, moved to visible text: past an indentation, and not below the last line with text. */
function visibleOffset(error: YAMLParseError, text: string): number {
  const blanks = /^ */.exec(text.slice(error.pos[0]))?.[0].length ?? 0;
  return Math.min(error.pos[0] + blanks, text.trimEnd().length);
}

/** Replaces the parser's messages, which may quote the file and so a secret. */
function messageFor({ code }: YAMLParseError, line: string): [message: string, hint: string] {
  const quotes = line.includes('${') ? 'put a value with ${…} in quotes' : 'put the value in quotes';
  switch (code) {
    case 'TAB_AS_INDENT':
      return ['this line is indented with a tab', 'YAML allows only spaces'];
    case 'BAD_DQ_ESCAPE':
      return ['invalid escape sequence in "…"', "write \\\\ for a backslash, or use '…'"];
    case 'BAD_SCALAR_START':
      return ['this character cannot begin a value', quotes];
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return [
        'this is not a single "key: value"',
        `check the indentation and the space after each colon; ${quotes} if it has a colon`,
      ];
    case 'MISSING_CHAR':
      return ['a closing quote or bracket, a comma, or the colon after a key is missing here', quotes];
    case 'BAD_INDENT':
      return [
        'the indentation does not match the lines above',
        'entries of one map or list begin in the same column; close every { and [',
      ];
    case 'UNEXPECTED_TOKEN':
      return [
        'this is unexpected here',
        `check the indentation and the brackets; ${quotes} if it has one of { } [ ] , # :`,
      ];
    case 'RESOURCE_EXHAUSTION':
      return ['this is nested too deeply', 'is this the right file?'];
    default:
      return [`this is not valid YAML (${code})`, 'check this line and the one above'];
  }
}

/** The faults that an expression causes whose characters YAML takes for its own. */
const BREAKS_EXPRESSIONS: ReadonlySet<string> = new Set([
  'BLOCK_AS_IMPLICIT_KEY',
  'MULTILINE_IMPLICIT_KEY',
  'MISSING_CHAR',
  'UNEXPECTED_TOKEN',
  'BAD_SCALAR_START',
  'TAG_RESOLVE_FAILED',
]);

const WHOLE = "put the whole expression in single quotes: '…'";

interface ExpressionLine {
  readonly message: string;
  readonly hint: string;
  /** Whether the fault is shown at the value rather than where YAML stopped. */
  readonly isAtValue: boolean;
}

/** Returns the fault of a line that looks like an expression which YAML does not take as one text; undefined for any other line. */
function expressionFault(line: string): ExpressionLine | undefined {
  const [, value = ''] = /^\s*[^:#]+:\s+(\S.*)$/.exec(line) ?? [];
  if (line.includes('${') || !/["'(]|==/.test(value)) return undefined;
  if (/^'[^']*'[\w(]/.test(value)) {
    const hint = 'inside an expression in single quotes use double quotes';
    return { message: 'the single quote here ends the value', hint, isAtValue: false };
  }
  if (/^(![a-z(]|"[^"]*"\s*[+.=]|[[{].*\]\.)/.test(value)) {
    const message = `YAML does not take this as one text, because it begins with ${value.charAt(0)}`;
    return { message, hint: WHOLE, isAtValue: true };
  }
  if (!/^[^'].*:\s/.test(value)) return undefined;
  return { message: 'YAML takes `: ` as the end of a key', hint: WHOLE, isAtValue: true };
}

/** Adds the fault of a file that is too large. */
export function addTooLarge(faults: FaultList): void {
  faults.addWhole('is larger than 256 kB', 'a configuration usually has a few kB: is this the right file?');
}
