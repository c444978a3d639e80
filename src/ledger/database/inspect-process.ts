import Database from 'better-sqlite3';
import { endWithParent } from '../../platform/process/end-with-parent.ts';
import { migrations } from '../schema/schema.ts';
import { schemaNumber } from '../schema/upgrading.ts';
import { contradictions } from './consistency-rules.ts';
import type { InspectionResult } from './inspect-file.ts';

// The process that checks a ledger for damage. SQLite cannot be interrupted during the check, but a process can be killed.

/** Errors that say nothing about the file's contents, because the file could not be opened. */
const NOT_OPENED = /^SQLITE_(CANTOPEN|READONLY|PERM|BUSY|LOCKED)/;
/** Maximum number of findings reported. */
const MAX_FINDINGS = 5;

const [file = '', how, parent] = process.argv.slice(2);
endWithParent(Number(parent));
process.send?.(inspected(), () => process.disconnect());

/** Returns the faults of the file. They name tables, pages and rules, but contain no data. */
function inspected(): InspectionResult {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const pragma = how === 'whole' ? 'integrity_check' : 'quick_check';
    const found = db.prepare<[], string>(`PRAGMA ${pragma}(${MAX_FINDINGS})`).pluck().all();
    const broken = found.filter((one) => one !== 'ok');
    if (broken.length > 0) return { faults: broken };
    // The rules apply only to the tables of this version. A ledger of an earlier version gets them when this version first starts and
    // upgrades it.
    const contradicting = schemaNumber(db) === migrations.length ? contradictions(db) : [];
    if (contradicting.length > 0 || how !== 'whole') return { faults: contradicting };
    const lost = db
      .prepare<[], string>('SELECT DISTINCT "table" FROM pragma_foreign_key_check')
      .pluck()
      .all();
    return { faults: lost.map((table) => `rows of ${table} refer to rows that are missing`) };
  } catch (error) {
    const code = String((error as { code?: unknown }).code ?? 'it cannot be read');
    return NOT_OPENED.test(code) ? { code } : { faults: [code] };
  } finally {
    db?.close();
  }
}
