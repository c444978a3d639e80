import Database from 'better-sqlite3';
import { endWithParent } from '../../platform/process/end-with-parent.ts';
import type { Inspected } from './inspect-file.ts';

// The process that looks for damage in a ledger: SQLite cannot be interrupted while it looks, but a process can be ended.

/** Who must not open a file knows nothing of what is in it. */
const NOT_OPENED = /^SQLITE_(CANTOPEN|READONLY|PERM|BUSY|LOCKED)/;
/** How many findings are told. */
const TOLD = 5;

const [file = '', how, parent] = process.argv.slice(2);
endWithParent(Number(parent));
process.send?.(inspected(), () => process.disconnect());

/** What is wrong with the file, in SQLite's words; they name tables and pages, and no content. */
function inspected(): Inspected {
  let db: Database.Database | undefined;
  try {
    db = new Database(file, { readonly: true, fileMustExist: true });
    const pragma = how === 'whole' ? 'integrity_check' : 'quick_check';
    const found = db.prepare<[], string>(`PRAGMA ${pragma}(${TOLD})`).pluck().all();
    const broken = found.filter((one) => one !== 'ok');
    if (broken.length > 0 || how !== 'whole') return { faults: broken };
    const lost = db
      .prepare<[], string>('SELECT DISTINCT "table" FROM pragma_foreign_key_check')
      .pluck()
      .all();
    return { faults: lost.map((table) => `rows of ${table} name rows that are gone`) };
  } catch (error) {
    const code = String((error as { code?: unknown }).code ?? 'it cannot be read');
    return NOT_OPENED.test(code) ? { code } : { faults: [code] };
  } finally {
    db?.close();
  }
}
