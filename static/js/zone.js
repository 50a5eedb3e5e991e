// Times are shown in the zone of this browser, from the next page on.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const secure = location.protocol === "https:" ? ";secure" : "";
if (timeZone) document.cookie = `timezone=${timeZone};path=/;max-age=31536000;samesite=lax${secure}`;
