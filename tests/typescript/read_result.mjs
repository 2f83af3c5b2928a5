// Starts research and reads its result with Temporal's own client and its default converter.
// node read_result.mjs ADDRESS WORKFLOW_ID REQUEST_JSON
import { Client, Connection } from "@temporalio/client";

const [address, workflowId, request] = process.argv.slice(2);
const connection = await Connection.connect({ address });
const client = new Client({ connection });
const handle = await client.workflow.start("ResearchWorkflow", {
  taskQueue: "research",
  workflowId,
  args: [JSON.parse(request)],
});
const summary = await handle.result();
let text = "";
for (let page = 0; page < summary.report.pages; page++) {
  text += (await handle.query("report_page", page)).text;
}
console.log(JSON.stringify({ summary, report: JSON.parse(text) }));
await connection.close();
