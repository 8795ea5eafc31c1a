/**
 * `/settings`: the API tokens, and the effective settings.
 *
 * @module
 */
import { stringifyLossless } from "../../job/json.ts";
import type { Scope } from "../../operator/actions/scope.ts";
import type { Mask } from "../../text/mask.ts";
import type { TokenInfo } from "../read/tokens.ts";
import type { SettingRow } from "../services.ts";
import { Layout } from "./layout.tsx";
import { TableHead } from "./table.tsx";
import { Empty, None, Time, type View } from "./view.tsx";

/** The page. Readers see it, too: it has no secrets. */
export function SettingsPage({ view, settings, tokens, mask }: {
  readonly view: View;
  readonly settings: readonly SettingRow[];
  readonly tokens: readonly TokenInfo[];
  readonly mask: Mask;
}) {
  return (
    <Layout view={view} title="Settings">
      <div class="heading">
        <h1>Settings</h1>
        <span class="note">signed in as {view.visitor.name} ({view.visitor.role})</span>
      </div>
      <section aria-labelledby="tokens-title">
        <h2 id="tokens-title">API tokens</h2>
        {tokens.length === 0
          ? (
            <Empty title="No API tokens.">
              Generate one with <code>jobs web --new-token NAME</code>, and add the printed line to{" "}
              <code>web.users</code>.
            </Empty>
          )
          : <Tokens view={view} tokens={tokens} />}
      </section>
      {settings.length > 0 && (
        <section aria-labelledby="settings-title">
          <h2 id="settings-title">Effective settings of this process</h2>
          <table class="list">
            <TableHead columns={["Setting", "Value", "From", "Meaning"]} />
            <tbody>
              {settings.map(({ key, value, shown, origin, about }) => (
                <tr>
                  <td data-label="Setting" class="mono nowrap">{key}</td>
                  <td data-label="Value" class="value">
                    <Value value={shown ?? mask.value(value)} />
                  </td>
                  <td data-label="From" class="nowrap">
                    {origin === "default" ? <span class="note">default</span> : origin}
                  </td>
                  <td data-label="Meaning" class="meaning note">{about}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
    </Layout>
  );
}

/** A value: texts and lists of texts as a configuration has them, without quotes. */
function Value({ value }: { readonly value: unknown }) {
  if (value === undefined || value === "" || (Array.isArray(value) && value.length === 0)) return <None />;
  if (typeof value === "string") return <code>{value}</code>;
  const isTexts = Array.isArray(value) && value.every((one) => typeof one === "string");
  return <code>{isTexts ? value.join(", ") : stringifyLossless(value)}</code>;
}

function Tokens({ view, tokens }: { readonly view: View; readonly tokens: readonly TokenInfo[] }) {
  return (
    <>
      <table class="list">
        <TableHead columns={["Name", "Role", "Limits", "Last used"]} />
        <tbody>
          {tokens.map(({ name, role, scope, lastUsedAt }) => (
            <tr>
              <td class="name" data-label="Name">
                <span class="class">{name}</span>
              </td>
              <td data-label="Role">
                <span class="badge">{role}</span>
              </td>
              <td data-label="Limits">{scopeText(scope)}</td>
              <td class="when" data-label="Last used">
                {lastUsedAt === undefined
                  ? <span class="note">not since this process started</span>
                  : <Time at={lastUsedAt} now={view.now} />}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="note">
        To revoke a token, remove its line from <code>web.users</code> and restart this process.
      </p>
    </>
  );
}

function scopeText({ classes, queues, keys, deletes }: Scope = {}): string {
  const parts = [
    classes && `classes ${classes.join(", ")}`,
    queues && `queues ${queues.join(", ")}`,
    keys && `signals ${keys.join(", ")}`,
    deletes === false && "deletes nothing",
  ];
  return parts.filter(Boolean).join("; ") || "none";
}
