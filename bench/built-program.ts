import { builtProgram } from '../test/support/program/built-program.ts';
import { newFolder, type Workbench } from './workbench.ts';

const programs = new Map<string, Promise<string>>();

/** Returns the file that starts leadsync as a user gets it: built, in a folder of its own. It is built once. @throws Error */
export function installedProgram(workbench: Pick<Workbench, 'folder'>): Promise<string> {
  const program = programs.get(workbench.folder) ?? builtProgram(newFolder(workbench));
  programs.set(workbench.folder, program);
  return program;
}
