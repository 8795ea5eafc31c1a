/** The durable steps of a job, with their buttons. */
import { assertEquals } from "@std/assert";
import { asleep } from "../asleep.ts";
import { placeOf } from "../site.ts";
import { browserTest } from "./browser.ts";

browserTest("a sleeping job is signalled from its page, and run again from one of its steps", async (tools) => {
  const { page, site: { store }, go, press, says } = tools;
  await asleep(store);
  await go("/jobs/o1");
  const row = (name: string) => page.locator("section", { hasText: "Steps" }).locator("tr", { hasText: name });
  await row("approval").getByText('for signal "order:42"').waitFor();
  await page.getByLabel("Data of signal order:42").fill("true");
  await press("Signal");
  await press("Send the signal");
  await says("Job o1 continues.");
  await row("approval").getByText("succeeded").waitFor();
  await press("Run again from here: step approval");
  await press("Run the steps again");
  await says("The job runs again from step approval.");
  assertEquals(await row("charge").count(), 1, "the step before it stays");
  assertEquals(await row("approval").count(), 0);
  assertEquals(await placeOf(store, "o1"), "queue:default");
});
