/**
 * Returns the target of the first link with `rel=next` in a Link header (RFC 8288, section 3), as written there; undefined if there
 * is none. Targets may contain commas and semicolons, values may be quoted, and a `rel` may name several relations.
 */
export function nextLink(header: string | null): string | undefined {
  for (const [, target = '', parameters = ''] of (header ?? '').matchAll(LINK)) {
    const rel = [...parameters.matchAll(PARAMETER)].find(([, name]) => name?.toLowerCase() === 'rel');
    const relations = (rel?.[2] ?? rel?.[3] ?? '').toLowerCase().split(/\s+/);
    if (relations.includes('next')) return target.trim();
  }
  return undefined;
}

/** `<target>` and all parameters after it. */
const LINK = /<([^>]*)>((?:\s*;\s*[^\s=;,]+(?:\s*=\s*(?:"(?:[^"\\]|\\.)*"|[^\s;,"]+))?)*)/g;
const PARAMETER = /;\s*([^\s=;,]+)(?:\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;,"]+)))?/g;
