import type { ErrorCode } from 'yaml';

/** What is wrong with a line of YAML. `column` is the 0-based place in the line to show; undefined: where the parser stopped. */
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

/** Returns a message about an error of the parser of YAML: most often an expression has characters that YAML takes for its own. */
export function explainYaml(code: ErrorCode, stop: Stop): LineFault {
  const layout = layoutFault(code, stop);
  if (layout) return layout;
  const ofExpression = BREAKS_EXPRESSIONS.has(code) ? expressionFault(stop.line, code) : undefined;
  if (ofExpression) return ofExpression;
  const [message, hint] = messageFor(code, stop.line);
  return { message, hint };
}

const SAME_COLUMN = 'entries of one map or list begin in the same column';
/** The end of a line whose value goes on in the next one. */
const GOES_ON = /(:\s*[|>][+-]?|\+|&&|\|\||\?|,|\()\s*$/;

/** Returns the fault of a line that begins in a wrong column; undefined for any other. */
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
      hint: `${SAME_COLUMN}; what belongs to a key follows a key without a value`,
    };
  if (code !== 'MISSING_CHAR' || !isAtStart) return undefined;
  if (columnOfKey(line) >= 0) return { message: WRONG_COLUMN, hint: `${SAME_COLUMN}; close every { and [` };
  if (!GOES_ON.test(above)) return undefined;
  return {
    message: 'the value of the line above goes on here, and is not indented deeper than its key',
    hint: 'indent this line by two more spaces',
  };
}

/** Whether a line begins with spaces and a tab. */
function isIndentedWithTab(line: string): boolean {
  return /^ *\t/.test(line);
}

/** Returns the column of the key with which a line begins, also behind the hyphen of a list; -1 if it begins with none. */
function columnOfKey(line: string): number {
  const [, before] = /^([ -]*)[\w.$"'][\w.$"'-]*:(\s|$)/.exec(line) ?? [];
  return before === undefined ? -1 : before.length;
}

const WRONG_COLUMN = 'the indentation does not match the lines above';

/** Replaces the parser's messages, which may quote the file and so a secret. */
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

/** The faults that an expression causes whose characters YAML takes for its own. */
const BREAKS_EXPRESSIONS: ReadonlySet<string> = new Set([
  'BLOCK_AS_IMPLICIT_KEY',
  'MULTILINE_IMPLICIT_KEY',
  'BLOCK_IN_FLOW',
  'MISSING_CHAR',
  'UNEXPECTED_TOKEN',
  'BAD_SCALAR_START',
  'TAG_RESOLVE_FAILED',
]);

/** How to write an expression that has characters of YAML. */
export const WHOLE = "put the whole expression in single quotes: '…'";

/** `${…}` with a variable of expressions, or `{{`, as other programs have them. */
const TEMPLATE = /\$\{\s*(?:lead|answers?|raw|delivery)\b|\{\{/;

/** Returns the fault of a line that looks like an expression which YAML does not take as one text; undefined for any other line. */
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
    const message = `YAML does not take this as one text, because it begins with ${value.charAt(0)}`;
    return { message, hint: WHOLE, column: key.length };
  }
  const inBraces = inBracesFault(line, value, code);
  if (inBraces) return inBraces;
  if (!/^[^'].*:\s/.test(value)) return undefined;
  return { message: COLON_ENDS, hint: WHOLE, column: key.length };
}

/** An entry inside { } whose value has no quotes, up to the character that ends the value. Matches in linear time. */
const ENTRY = /(?:[{,]|^)\s*[\w.$-]+:\s+([^\s'"{[&*!|>][^,[\]{}]*)(?=([,[\]{}]))/g;

/** Returns the fault of an expression without quotes inside { } that has a character which ends the value there. */
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

/** What YAML does inside { } to an expression such as `phone(lead.client_phone_number, "AU")`. */
export const COMMA_ENDS = 'inside { } a comma ends a value without quotes';
const COLON_ENDS = 'YAML takes `: ` as the end of a key';

/** Whether a text has an opening parenthesis that is not closed. */
export function isCut(text: string): boolean {
  return text.split('(').length > text.split(')').length;
}

/** Returns the fault of `${` or `{{` around an expression. */
export function templateFault(opening: string): LineFault {
  const around = opening === '{{' ? '{{ }}' : '${ }';
  const hint = 'write what is inside without it, and join texts with +';
  return { message: `${around} has no meaning in an expression`, hint };
}
