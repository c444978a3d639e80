import type { ErrorCode } from 'yaml';

/** What is wrong with a line of YAML. `column` is the 0-based column to show; if undefined, the column where the parser stopped. */
interface LineFault {
  readonly message: string;
  readonly hint: string;
  readonly column?: number;
}

/** Where the parser stopped. */
interface Stop {
  readonly line: string;
  /** Whether it stopped at the first visible character of the line. */
  readonly isAtStart: boolean;
  /** The nearest lines with text, or empty. */
  readonly above: string;
  readonly below: string;
}

/** Returns a message about a YAML parser error. The usual cause is an expression that contains characters with a meaning in YAML. */
export function explainYaml(code: ErrorCode, stop: Stop): LineFault {
  const layout = layoutFault(code, stop);
  if (layout) return layout;
  const ofExpression = BREAKS_EXPRESSIONS.has(code) ? expressionFault(stop.line, code) : undefined;
  if (ofExpression) return ofExpression;
  const [message, hint] = messageFor(code, stop.line);
  return { message, hint };
}

const SAME_COLUMN = 'entries of one map or list begin in the same column';
/** Matches the end of a line whose value continues on the next line. */
const GOES_ON = /(:\s*[|>][+-]?|\+|&&|\|\||\?|,|\()\s*$/;

/** Returns the fault of a line that begins in the wrong column; undefined for any other line. */
function layoutFault(code: ErrorCode, { line, isAtStart, above, below }: Stop): LineFault | undefined {
  if (code === 'TAB_AS_INDENT' && isIndentedWithTab(below))
    return {
      message: 'this line and the one below are indented with tabs',
      hint: 'YAML allows only spaces',
    };
  const isKey = code === 'BLOCK_AS_IMPLICIT_KEY' || code === 'MULTILINE_IMPLICIT_KEY';
  if (isKey && columnOfKey(below) > columnOfKey(line) && columnOfKey(line) >= 0)
    return {
      message: 'this key has a value, and the line below is indented deeper',
      hint: `${SAME_COLUMN}; entries that belong to a key follow a key without a value`,
    };
  if (code !== 'MISSING_CHAR' || !isAtStart) return undefined;
  if (columnOfKey(line) >= 0) return { message: WRONG_COLUMN, hint: `${SAME_COLUMN}; close every { and [` };
  if (!GOES_ON.test(above)) return undefined;
  return {
    message: 'the value from the line above continues here, but is not indented deeper than its key',
    hint: 'indent this line by two more spaces',
  };
}

/** Whether a line begins with spaces and a tab. */
function isIndentedWithTab(line: string): boolean {
  return /^ *\t/.test(line);
}

/** Returns the column of the key at the start of a line or after the hyphen of a list item; -1 if there is no such key. */
function columnOfKey(line: string): number {
  const [, before] = /^([ -]*)[\w.$"'][\w.$"'-]*:(\s|$)/.exec(line) ?? [];
  return before === undefined ? -1 : before.length;
}

const WRONG_COLUMN = 'the indentation does not match the lines above';

/** Returns a message in place of the parser's own, which may quote the file and therefore a secret. */
function messageFor(code: ErrorCode, line: string): [message: string, hint: string] {
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
      return [WRONG_COLUMN, `${SAME_COLUMN}; close every { and [`];
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

/** The parser errors that an expression can cause if it contains characters with a meaning in YAML. */
const BREAKS_EXPRESSIONS: ReadonlySet<string> = new Set([
  'BLOCK_AS_IMPLICIT_KEY',
  'MULTILINE_IMPLICIT_KEY',
  'BLOCK_IN_FLOW',
  'MISSING_CHAR',
  'UNEXPECTED_TOKEN',
  'BAD_SCALAR_START',
  'TAG_RESOLVE_FAILED',
]);

/** How to write an expression that contains characters with a meaning in YAML. */
export const WHOLE = "put the whole expression in single quotes: '…'";

/** Matches the template syntax of other programs: `${…}` around an expression variable, or `{{`. */
const TEMPLATE = /\$\{\s*(?:lead|answers?|raw|delivery)\b|\{\{/;

/** Returns the fault of a line that looks like an expression but that YAML does not read as one string; undefined for any other line. */
function expressionFault(line: string, code: ErrorCode): LineFault | undefined {
  const [, key = '', value = ''] = /^(\s*[^:#]+:\s+)(\S.*)$/.exec(line) ?? [];
  const template = TEMPLATE.exec(value);
  if (template) return { ...templateFault(template[0].slice(0, 2)), column: key.length + template.index };
  if (line.includes('${') || !/["'(]|==/.test(value)) return undefined;
  if (/^'[^']*'[\w(]/.test(value)) {
    const hint = 'inside an expression in single quotes use double quotes';
    return { message: 'the single quote here ends the value', hint };
  }
  if (/^(![a-z(]|"[^"]*"\s*[+.=]|[[{].*\]\.)/.test(value)) {
    const message = `YAML does not read this as one string, because it begins with ${value.charAt(0)}`;
    return { message, hint: WHOLE, column: key.length };
  }
  const inBraces = inBracesFault(line, value, code);
  if (inBraces) return inBraces;
  if (!/^[^'].*:\s/.test(value)) return undefined;
  return { message: COLON_ENDS, hint: WHOLE, column: key.length };
}

/** Matches an entry inside { } with an unquoted value, up to the character that ends the value. Runs in linear time. */
const ENTRY = /(?:[{,]|^)\s*[\w.$-]+:\s+([^\s'"{[&*!|>][^,[\]{}]*)(?=([,[\]{}]))/g;

/** Returns the fault of an unquoted expression inside { } that contains a character that ends the value. */
function inBracesFault(line: string, value: string, code: ErrorCode): LineFault | undefined {
  const isInside = value.startsWith('{') || (code === 'MISSING_CHAR' && /[,}]\s*$/.test(value));
  for (const { 0: entry, 1: text = '', 2: end = '', index } of isInside ? line.matchAll(ENTRY) : []) {
    const fault = { hint: WHOLE, column: index + entry.length - text.length };
    if (end === ',' && isCut(text)) return { ...fault, message: COMMA_ENDS };
    if (/:\s/.test(text)) return { ...fault, message: COLON_ENDS };
    if (/[[\]{]/.test(end)) return { ...fault, message: `inside { } a ${end} ends a value without quotes` };
  }
  return undefined;
}

/** Message about an unquoted expression inside { }, such as `phone(lead.client_phone_number, "AU")`. */
export const COMMA_ENDS = 'inside { } a comma ends a value without quotes';
const COLON_ENDS = 'YAML takes `: ` as the end of a key';

/** Whether the text has an opening parenthesis that is not closed. */
export function isCut(text: string): boolean {
  return text.split('(').length > text.split(')').length;
}

/** Returns the fault of `${` or `{{` around an expression. */
export function templateFault(opening: string): LineFault {
  const around = opening === '{{' ? '{{ }}' : '${ }';
  const hint = 'write only what is inside, and join strings with +';
  return { message: `${around} has no meaning in an expression`, hint };
}
