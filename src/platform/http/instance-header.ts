/**
 * Header of every answer from the admin server. It contains the id of the server's process, by which a command recognises the right
 * leadsync.
 */
export const INSTANCE_HEADER = 'x-leadsync-instance';
