// Uses all of the AI SDK's provider for the service, and prints a line for each case.

import { createHmac } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { createBlackForestLabs } from "@ai-sdk/black-forest-labs";
import { experimental_generateVideo, generateImage } from "ai";

const { IMAGEKILN_API_KEY, IMAGEKILN_BASE_URL, IMAGEKILN_MODEL_PREFIX: prefix } = process.env;
const SECRET = "a secret for tests";
const prompt = "a red fox in the snow";

// Warnings are not findings.
globalThis.AI_SDK_LOG_WARNINGS = false;

function provider(apiKey = IMAGEKILN_API_KEY) {
    const baseURL = `${IMAGEKILN_BASE_URL}/v1`;
    return createBlackForestLabs({ apiKey, baseURL, pollIntervalMillis: 200 });
}

async function picture(model, settings, options = {}) {
    const { image } = await generateImage({
        model: provider().image(`${prefix}-${model}`),
        maxRetries: 0,
        providerOptions: { blackForestLabs: { pollTimeoutMillis: 5_000, ...options } },
        prompt,
        ...settings,
    });
    if (!image.mediaType.startsWith("image/")) throw new Error(`not a picture: ${image.mediaType}`);
    return image.uint8Array;
}

async function video(settings, options = {}) {
    const { video, providerMetadata } = await experimental_generateVideo({
        model: provider().video(`${prefix}-3-video`),
        duration: 5,
        maxRetries: 0,
        poll: { intervalMs: 200, timeoutMs: 60_000 },
        providerOptions: { blackForestLabs: options },
        prompt,
        download,
        ...settings,
    });
    if (!video.mediaType.startsWith("video/")) throw new Error(`not a video: ${video.mediaType}`);
    return { data: video.uint8Array, mediaType: video.mediaType, providerMetadata };
}

/** Downloads videos from this machine, too. */
async function download({ url }) {
    const response = await fetch(url);
    const data = new Uint8Array(await response.arrayBuffer());
    return { data, mediaType: response.headers.get("content-type") };
}

/** Waits for the notification of a picture, and verifies its signature. */
async function webhook() {
    const receiver = createServer().listen(0, "127.0.0.1");
    await once(receiver, "listening");
    const notification = once(receiver, "request");
    const webhookUrl = `http://127.0.0.1:${receiver.address().port}`;
    await picture("2-pro", {}, { webhookUrl, webhookSecret: SECRET });
    const [request, response] = await notification;
    const body = Buffer.concat(await request.toArray());
    response.end();
    receiver.close();
    const digest = createHmac("sha256", SECRET).update(body).digest("hex");
    if (request.headers["x-webhook-signature"] !== `sha256=${digest}`) throw new Error("unsigned");
    const { status } = JSON.parse(body);
    if (status !== "Ready") throw new Error(`the status is ${status}`);
}

async function draft() {
    const { providerMetadata } = await video({}, { draft: true });
    const { draftCache } = providerMetadata.blackForestLabs.videos[0];
    if (!draftCache) throw new Error("the draft has no draft_cache");
    await video({}, { draftCache });
}

/** Fails unless the error has this text. */
async function error(expected, act) {
    const found = await act.then(() => "no error", String);
    if (!found.includes(expected)) throw new Error(found);
}

const base = await picture("2-pro", { seed: 7 });
const other = await picture("2-pro", { prompt: "a moon", seed: 8 });
const encoded = Buffer.from(base).toString("base64");
const [width, height] = [512, 256];
const [first, last] = ["first_frame", "last_frame"];
let clip;

const cases = {
    "2-pro with a size": () => picture("2-pro", { size: "512x512" }),
    "2-flex": () => picture("2-flex", {}, { width, height, steps: 20, guidance: 4 }),
    "2-klein-9b": () => picture("2-klein-9b", { seed: 7 }, { width, height }),
    dev: () => picture("dev", {}, { width, height, steps: 20, guidance: 3 }),
    "pro-1.1": () => picture("pro-1.1", {}, { width, height, outputFormat: "png" }),
    "pro-1.1-ultra": () => picture("pro-1.1-ultra", { aspectRatio: "21:9" }, { raw: true }),
    "pro-1.1-ultra with an image": () =>
        picture("pro-1.1-ultra", {}, { imagePrompt: encoded, imagePromptStrength: 0.5 }),
    "kontext-pro": () => picture("kontext-pro", { aspectRatio: "4:3" }),
    "kontext-max": () => picture("kontext-max", {}),
    "edit with 2-pro": () => picture("2-pro", { prompt: { text: prompt, images: [base, other] } }),
    "edit with kontext-pro": () =>
        picture("kontext-pro", { prompt: { text: prompt, images: [base] } }),
    fill: () => picture("pro-1.0-fill", { prompt: { text: prompt, images: [base], mask: other } }),
    webhook,
    "text to video": async () => {
        clip = await video({ aspectRatio: "16:9", resolution: "1280x720" });
    },
    "image to video": () => video({ prompt: { image: base, text: prompt } }),
    "first and last frame": () =>
        video({
            frameImages: [
                { image: base, frameType: first },
                { image: other, frameType: last },
            ],
        }),
    "timed keyframe": () => video({}, { keyframes: [[3, encoded]] }),
    "video to video": () => video({ inputReferences: [clip] }),
    "draft and its enhancement": draft,
    "download of a video": () => video({ download: undefined }),
    "invalid request": () => error("steps", picture("dev", {}, { steps: 1000 })),
    "unknown key": () =>
        error("key", generateImage({ model: provider("unknown").image(`${prefix}-dev`), prompt })),
    "status Error": () => error("failed", picture("dev", { prompt: "[[error]]" })),
    "status Request Moderated": () => error("Moderated", picture("dev", { prompt: "gore" })),
    "status Content Moderated": () => error("Moderated", picture("dev", { prompt: "a weapon" })),
    "video with the status Request Moderated": () =>
        error("Request Moderated", video({ prompt: "gore" })),
    "video with the status Content Moderated": () =>
        error("Content Moderated", video({ prompt: "a weapon" })),
};

for (const [name, act] of Object.entries(cases)) {
    await act().then(
        () => console.log(`ok ${name}`),
        (found) => console.log(`failed ${name}: ${String(found).replace(/\s+/g, " ")}`),
    );
}
