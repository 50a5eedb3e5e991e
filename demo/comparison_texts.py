"""What three "models" that do not exist say of the demo's photographs, so that there is something to compare.

All of it was written by hand for the demo, and differs on purpose: the first names the main thing only; the second
tells of relations, activity and background, and is plainly wrong at times; the third is now and then wrong or
ungrammatical. Some captions of two models are equal.
"""

from __future__ import annotations

BRIEF, RICH, WOBBLY = MODELS = (
    "demo-brief (written by hand)",
    "demo-rich (written by hand)",
    "demo-wobbly (written by hand)",
)
DESCRIPTIONS = {
    BRIEF: "Names only the main thing in the photograph.",
    RICH: "Describes relations, activity and background, and sometimes things that are not there.",
    WOBBLY: "Sometimes wrong, sometimes ungrammatical. In German only.",
}
DISCLAIMER = "Written by hand for the demo. No model made these captions, so they say nothing about any model."

CAPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "de": {
        "astronaut": (
            "Eine Astronautin.",
            "Eine lächelnde Astronautin im orangen Raumanzug sitzt vor der US-Flagge und dem Modell einer Raumfähre.",
            "Ein Astronaut hält sein Helm und lächelt in Kamera.",
        ),
        "camera": (
            "Ein Mann mit einer Kamera.",
            "Ein Mann im dunklen Mantel blickt durch eine Kamera auf einem Stativ, hinter ihm Wiese und Hochhäuser.",
            "Ein Mann schaut mit Teleskop nach Sterne.",
        ),
        "cat": (
            "Eine getigerte Katze.",
            "Nahaufnahme einer getigerten Katze mit grünen Augen, die aufmerksam zur Seite blickt.",
            "Eine Katze mit grüne Augen schläft.",
        ),
        "coffee": (
            "Eine Tasse Kaffee.",
            "Eine halb volle Tasse Espresso steht mit Untertasse und Löffel auf einem Holztisch neben einem Fenster.",
            "Eine rote Tasse mit Tee auf dem Tisch.",
        ),
        "coins": (
            "Alte Münzen.",
            "Vierundzwanzig alte Silbermünzen mit Köpfen und Figuren liegen in vier Reihen auf dunklem Grund.",
            "Viele Knöpfe in Reihe gelegt.",
        ),
        "clock": (
            "Eine verschwommene Uhr.",
            "Ein Teller mit Spaghetti steht auf einem grauen Tisch, im Hintergrund sitzt eine Familie beim Essen.",
            "Ein heller verwischter Fleck vor grauem Hintergrund.",
        ),
        "rocket": (
            "Eine Rakete.",
            "Eine weiße Rakete steht in der Dämmerung zwischen Masten auf der Startrampe, unten leuchten Scheinwerfer.",
            "Eine Rakete fliegt über der Stadt mit viel Rauch.",
        ),
        "galaxies": (
            "Sterne am Himmel.",
            "Unzählige ferne Galaxien leuchten weiß, rötlich und blau vor dem schwarzen Weltall.",
            "Bunte Punkte auf schwarz Papier.",
        ),
        "retina": (
            "Die Netzhaut eines Auges.",
            "Ein roter Planet mit Flüssen und einem hellen Krater schwebt vor einem schwarzen Sternenhimmel.",
            "Die orangerote Netzhaut mit Blutgefäßen und ein dunkler Fleck in Mitte.",
        ),
        "bricks": (
            "Graue Ziegelsteine.",
            "Lange Reihen versetzter Ziegelsteine mit hellen Fugen, in Schwarz-Weiß schräg von vorn aufgenommen.",
            "Graue Ziegelsteine.",
        ),
        "grass": (
            "Gras.",
            "Kurz gemähter Rasen mit Klee und welken Blättern, von oben in Schwarz-Weiß aufgenommen.",
            "Ein grüner Wiese mit Blumen.",
        ),
        "gravel": (
            "Eine Fläche aus grauem Schotter.",
            "Eine Fläche aus grauem Schotter.",
            "Steine viele kleine liegt auf Boden.",
        ),
        "pagoda": (
            "Ein Turm an einem See.",
            "Eine mehrstöckige Pagode mit geschwungenen grünen Dächern ragt zwischen Bäumen über einem See auf.",
            "Ein chinesischer Tempel steht im Wald bei Schnee.",
        ),
        "dahlia": (
            "Eine Blume.",
            "Eine lachsfarbene Dahlie in voller Blüte vor unscharfen grünen Blättern, darunter eine zweite.",
            "Eine orange Dahlie vor grüne Blätter.",
        ),
        "officer": (
            "Eine Frau in Uniform.",
            "Eine ältere Marineoffizierin mit Brille und Ordensspangen sitzt in einem Flugzeug neben dem Piloten.",
            "Eine Frau mit Mütze vor der amerikanischer Flagge.",
        ),
    },
    "ar": {
        "astronaut": (
            "رائدة فضاء.",
            "رائدة فضاء مبتسمة ببدلة برتقالية تجلس أمام العلم الأمريكي ونموذج لمكوك فضائي.",
        ),
        "camera": (
            "رجل معه كاميرا.",
            "رجل بمعطف داكن ينحني لينظر في كاميرا على حامل ثلاثي وسط مرج واسع، وخلفه أبراج بعيدة.",
        ),
        "cat": ("قطة مخططة.", "وجه قطة مخططة بعينين خضراوين وشوارب طويلة تنظر إلى الجانب."),
        "coffee": ("فنجان قهوة.", "فنجان إسبريسو نصف ممتلئ على صحن أحمر مع ملعقة صغيرة فوق طاولة خشبية."),
        "coins": (
            "عملات معدنية قديمة.",
            "أربع وعشرون قطعة نقود فضية قديمة عليها رؤوس وأشكال، مصفوفة في أربعة صفوف على خلفية داكنة.",
        ),
        "clock": ("ساعة غير واضحة.", "طبق أبيض فيه طعام على طاولة رمادية في مطعم مزدحم."),
        "rocket": (
            "صاروخ.",
            "صاروخ أبيض يقف على منصة الإطلاق بين أبراج معدنية عند الغسق، وتضيئه كشافات من الأسفل.",
        ),
        "galaxies": ("نجوم في السماء.", "مجرات بعيدة لا تحصى تتلألأ بالأبيض والأحمر والأزرق في فضاء أسود."),
        "retina": ("شبكية عين.", "كوكب أحمر تجري فيه أنهار داكنة وتلمع على حافته بقعة مضيئة."),
        "bricks": ("جدار من الطوب.", "صفوف طويلة من الطوب الرمادي بفواصل فاتحة، في صورة بالأبيض والأسود."),
        "grass": ("عشب.", "عشب قصير تتخلله أوراق نفل وأوراق ذابلة، في صورة من الأعلى بالأبيض والأسود."),
        "gravel": ("أرض مغطاة بالحصى الرمادي.", "أرض مغطاة بالحصى الرمادي."),
        "pagoda": (
            "برج قرب بحيرة.",
            "برج صيني متعدد الطوابق بأسقف خضراء مقوسة يرتفع بين الأشجار فوق بحيرة يلفها الضباب.",
        ),
        "dahlia": ("زهرة.", "زهرة داليا برتقالية متفتحة أمام أوراق خضراء ضبابية، وتحتها زهرة ثانية."),
        "officer": ("امرأة بزي رسمي.", "ضابطة بحرية مسنة تضع نظارة وتجلس في طائرة بجانب الطيار."),
    },
    "hi": {
        "astronaut": (
            "एक अंतरिक्ष यात्री।",
            "नारंगी सूट पहने मुस्कुराती हुई महिला अंतरिक्ष यात्री अमेरिकी झंडे और अंतरिक्ष यान के मॉडल के सामने बैठी है।",
        ),
        "camera": (
            "कैमरे के साथ एक आदमी।",
            "गहरे रंग का कोट पहने एक आदमी मैदान में तिपाई पर रखे कैमरे में झुककर देख रहा है, पीछे ऊँची इमारतें हैं।",
        ),
        "cat": (
            "एक धारीदार बिल्ली।",
            "एक ओर देखती, हरी आँखों और लंबी मूँछों वाली धारीदार बिल्ली का पास से लिया गया चित्र।",
        ),
        "coffee": ("एक कप कॉफ़ी।", "लकड़ी की मेज़ पर लाल तश्तरी में छोटे चम्मच के साथ एस्प्रेसो का आधा भरा कप रखा है।"),
        "coins": (
            "पुराने सिक्के।",
            "गहरे रंग की सतह पर चार पंक्तियों में रखे चाँदी के चौबीस पुराने सिक्के, जिन पर चेहरे और आकृतियाँ बनी हैं।",
        ),
        "clock": ("एक धुंधली घड़ी।", "एक भीड़ भरे रेस्तराँ में धूसर मेज़ पर खाने की सफ़ेद प्लेट रखी है।"),
        "rocket": (
            "एक रॉकेट।",
            "शाम के धुंधलके में ऊँचे खंभों के बीच प्रक्षेपण मंच पर खड़ा एक सफ़ेद रॉकेट, नीचे तेज़ बत्तियाँ जल रही हैं।",
        ),
        "galaxies": ("आसमान में तारे।", "काले अंतरिक्ष में सफ़ेद, लाल और नीले रंग में चमकती अनगिनत सुदूर आकाशगंगाएँ।"),
        "retina": ("आँख का रेटिना।", "एक लाल ग्रह, जिस पर गहरी नदियाँ बह रही हैं और किनारे पर एक चमकीला धब्बा है।"),
        "bricks": ("ईंटों की दीवार।", "धूसर ईंटों की लंबी कतारों और उनके बीच के हल्के जोड़ों की श्वेत-श्याम तस्वीर।"),
        "grass": ("घास।", "ऊपर से ली गई श्वेत-श्याम तस्वीर में छोटी घास, कुछ तिपतिया और सूखे पत्ते दिख रहे हैं।"),
        "gravel": ("धूसर बजरी से ढकी ज़मीन।", "धूसर बजरी से ढकी ज़मीन।"),
        "pagoda": (
            "झील के पास एक मीनार।",
            "धुंध भरी झील के ऊपर पेड़ों के बीच खड़ा घुमावदार हरी छतों वाला एक बहुमंज़िला चीनी पगोडा।",
        ),
        "dahlia": (
            "एक फूल।",
            "धुंधली हरी पत्तियों के सामने पूरा खिला हुआ नारंगी डहलिया, जिसके नीचे एक और फूल दिख रहा है।",
        ),
        "officer": (
            "वर्दी पहने एक महिला।",
            "चश्मा और टोपी पहने एक बुज़ुर्ग महिला नौसेना अधिकारी विमान में पायलट के पास बैठी है।",
        ),
    },
    "ja": {
        "astronaut": (
            "宇宙飛行士。",
            "オレンジ色の宇宙服を着た女性宇宙飛行士が、星条旗とスペースシャトルの模型の前で微笑んでいる。",
        ),
        "camera": (
            "カメラと男性。",
            "黒いコートの男性が芝生の上で三脚のカメラをのぞき込み、遠くに高い建物が見える。",
        ),
        "cat": ("しま模様の猫。", "緑色の目と長いひげを持つしま模様の猫が横を見つめている、顔のアップ。"),
        "coffee": (
            "一杯のコーヒー。",
            "木のテーブルの上に、赤い受け皿とスプーンを添えたエスプレッソのカップが置かれている。",
        ),
        "coins": (
            "古い硬貨。",
            "人の横顔や像が刻まれた二十四枚の古い銀貨が、暗い台の上に四列に並んでいる。",
        ),
        "clock": (
            "ぼやけた時計。",
            "混み合ったレストランの灰色のテーブルに、料理をのせた白い皿が置かれている。",
        ),
        "rocket": (
            "ロケット。",
            "夕暮れの発射台で、鉄塔に囲まれた白いロケットが投光器に照らされて立っている。",
        ),
        "galaxies": ("空の星。", "真っ暗な宇宙に、白や赤や青に輝く無数の遠い銀河が散らばっている。"),
        "retina": ("目の網膜。", "黒い宇宙に浮かぶ赤い惑星の表面を、何本もの川が流れている。"),
        "bricks": ("れんがの壁。", "明るい目地で区切られた灰色のれんがが、互い違いに長く並んでいる白黒写真。"),
        "grass": ("草。", "クローバーや枯れ葉の混じる短い芝生を真上から写した白黒写真。"),
        "gravel": ("灰色の砂利に覆われた地面。", "灰色の砂利に覆われた地面。"),
        "pagoda": (
            "湖のそばの塔。",
            "反り返った緑の屋根を重ねた中国風の楼閣が、木々の間から霞んだ湖を見下ろしている。",
        ),
        "dahlia": (
            "一輪の花。",
            "ぼやけた緑の葉を背景に満開のオレンジ色のダリアが咲き、下にもう一輪見える。",
        ),
        "officer": (
            "制服を着た女性。",
            "眼鏡をかけた年配の女性海軍士官が、飛行機の中で操縦士の隣に座っている。",
        ),
    },
}
"""By language and the key of the photograph, in the order of MODELS."""

QUALITY = {
    "astronaut": (2, 5, 2),
    "camera": (2, 5, 0),
    "cat": (3, 5, 1),
    "coffee": (3, 3, 1),
    "coins": (2, 5, 0),
    "clock": (2, 0, 3),
    "rocket": (2, 5, 1),
    "galaxies": (2, 4, 1),
    "retina": (4, 0, 3),
    "bricks": (2, 3, 2),
    "grass": (2, 5, 1),
    "gravel": (3, 3, 1),
    "pagoda": (2, 5, 1),
    "dahlia": (2, 5, 3),
    "officer": (3, 1, 3),
}
"""How good the captions are, from 0 (plainly wrong) to 5, to those in the demo who have judged them."""
