import Database from 'better-sqlite3';
import { endWithParent } from '../../platform/process/end-with-parent.ts';
import type { InspectionResult } from './inspect-file.ts';

// The process that checks a ledger for damage. SQLite cannot be interrupted during the check, but a process can be killed.

/** Errors that say nothing about the file's contents, because the file could not be opened. */
const NOT_OPENED = /^SQLITE_(CANTOPEN|READONLY|PERM|BUSY|LOCKED)/;
/** Maximum findings reported. */
const MAX_FINDINGS = 5;

const [file = '', how, parent] = process.argv.slice(2);
endWithParent(Number(parent));
process.send?.(inspected(), () => process.disconnect());

/** Returns what is wrong with the file, in SQLite's words, which name tables and pages but contain no data. */
function inspected(): InspectionResult {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const pragma = how === 'whole' ? 'integrity_check' : 'quick_check';
    const found = db.prepare<[], string>(`PRAGMA ${pragma}(${MAX_FINDINGS})`).pluck().all();
    const broken = found.filter((one) => one !== 'ok');
    if (broken.length > 0 || how !== 'whole') return { faults: broken };
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
