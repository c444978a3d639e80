/** Header of every answer of the admin server: the id of its process, by which a command recognises the right leadsync. */
export const INSTANCE_HEADER = 'x-leadsync-instance';
