/**
 * The user's certificates, for programs that use the network. The others run without them: reading them takes two thirds of the
 * processor time of a start of Node, and tests start it hundreds of times.
 *
 * @module
 */

const NAME = "NODE_EXTRA_CA_CERTS";
const certificates = Deno.env.get(NAME);
Deno.env.delete(NAME);

/** Variables for programs that use the network. */
export const NETWORK: Readonly<Record<string, string>> = certificates === undefined ? {} : { [NAME]: certificates };
