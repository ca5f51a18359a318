// Makes a picture with the types of openapi-typescript and the client openapi-fetch.

import { writeFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import createClient from "openapi-fetch";
import type { paths } from "./generated/schema";

const MAX_POLLS = 100;

async function main() {
    const client = createClient<paths>({
        baseUrl: process.env.IMAGEKILN_BASE_URL,
        headers: { "x-key": process.env.IMAGEKILN_API_KEY },
    });
    const { data: task, error } = await client.POST("/v1/gen-2-pro", {
        body: { prompt: "a red fox in the snow", width: 256, height: 256, seed: 7 },
    });
    if (!task) throw new Error(`the submission failed: ${JSON.stringify(error)}`);
    for (let polls = 1; polls <= MAX_POLLS; polls++) {
        const query = { id: task.id };
        const { data: poll, response } = await client.GET("/v1/get_result", { params: { query } });
        if (!poll) throw new Error(`the poll failed with status code ${response.status}`);
        if (poll.status === "Ready" && poll.result?.sample) {
            const picture = await fetch(poll.result.sample);
            await writeFile(process.argv[2], Buffer.from(await picture.arrayBuffer()));
            console.log(polls);
            return;
        }
        await setTimeout(100);
    }
    throw new Error(`the task ${task.id} was not ready after ${MAX_POLLS} polls`);
}

main();
