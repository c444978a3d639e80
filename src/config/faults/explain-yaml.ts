import type { ErrorCode } from 'yaml';

/** What is wrong with a line of YAML. `column` is the 0-based place in the line to show; undefined: where the parser stopped. */
interface LineFault {
  readonly message: string;
  readonly hint: string;
  readonly column?: number;
}

/** Returns a message about an error of the parser of YAML in a line: most often an expression has characters that YAML takes for its own. */
export function explainYaml(code: ErrorCode, line: string): LineFault {
  const ofExpression = BREAKS_EXPRESSIONS.has(code) ? expressionFault(line) : undefined;
  if (ofExpression) return ofExpression;
  const [message, hint] = messageFor(code, line);
  return { message, hint };
}

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

/** `${…}` with a variable of expressions, or `{{`, as other programs have them. */
const TEMPLATE = /\$\{\s*(?:lead|answers?|raw|delivery)\b|\{\{/;

/** Returns the fault of a line that looks like an expression which YAML does not take as one text; undefined for any other line. */
function expressionFault(line: string): LineFault | undefined {
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
  if (!/^[^'].*:\s/.test(value)) return undefined;
  return { message: 'YAML takes `: ` as the end of a key', hint: WHOLE, column: key.length };
}

/** Returns the fault of `${` or `{{` around an expression. */
export function templateFault(opening: string): LineFault {
  const around = opening === '{{' ? '{{ }}' : '${ }';
  const hint = 'write what is inside without it, and join texts with +';
  return { message: `${around} has no meaning in an expression`, hint };
}
