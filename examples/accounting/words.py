"""The words that the reading rules know. To teach them a word, add it here; whatever is missing is refused.

An underscore stands for a space, and an English word also stands for its plural.
"""

from __future__ import annotations

from plait.examples.accounting.ledger import Category

ITEMS: dict[Category, str] = {
    "food": """早饭 早餐 早点 午饭 午餐 中饭 晚饭 晚餐 夜宵 宵夜 吃饭 外卖 咖啡 奶茶 饮料 啤酒 水果 零食 蛋糕
        面包 牛肉面 拉面 面条 饺子 包子 三明治 汉堡 火锅 烧烤 寿司 聚餐 买菜 超市 牛奶 鸡蛋 矿泉水
        饭 面 菜 水 茶 酒
        breakfast lunch brunch dinner supper coffee tea latte beer wine snack pizza burger sandwich noodle
        sushi ramen cake bread milk fruit vegetable meal takeaway takeout restaurant groceries supermarket""",
    "transport": """打车 出租车 滴滴 地铁 公交 公交卡 高铁 火车 火车票 机票 飞机票 加油 停车 停车费
        过路费 共享单车
        taxi cab uber bus metro subway train tram flight ferry parking petrol fuel toll""",
    "housing": """房租 租金 水费 电费 水电费 燃气费 煤气费 物业费 网费 宽带 家具 保洁
        rent electricity water_bill gas_bill heating internet_bill furniture""",
    "health": """看病 挂号 挂号费 医院 牙医 体检 买药 药店 感冒药 眼镜 健身房 健身卡 药
        doctor dentist pharmacy medicine hospital glasses gym vitamin physio""",
    "fun": """看电影 电影 电影票 演唱会 门票 游戏 唱歌 旅游 酒店 民宿 买书 书 杂志
        movie cinema concert museum game book magazine hotel hostel spotify netflix""",
    "shopping": """衣服 裤子 鞋子 鞋 帽子 手机 手机壳 耳机 键盘 电脑 充电器 化妆品 洗发水 纸巾 日用品 雨伞
        clothes shirt shoe jacket jeans phone headphone keyboard laptop charger umbrella shampoo""",
    "other": """理发 剪头发 快递 快递费 话费 礼物 鲜花 捐款 学费 猫粮 狗粮
        haircut postage stamp gift flower donation tuition phone_bill cat_food dog_food""",
}

DETAILS = """充值 公司 学校 楼下 食堂 机场 车站 一杯 一本 一份 一张 一双 一件 一个
    ticket card membership fee bill home work office airport station"""
"""Part of an item, but no expense of their own."""

FILLERS = """花了 花 用了 买了 买 付了 付 交了 交 吃了 吃 喝了 喝 去 在 我 的 了 一共 总共
    早上 上午 中午 下午 晚上 记 记一下 记账 帮我记 帮我记一下 请记 请记一下
    i the a an my to for on at in spent paid bought cost was please record log add note total"""
"""Words that change nothing about an expense. 请 and 帮我 alone are not: 请我吃饭 is no expense of mine."""

TALK = {
    "greeting": """你好 您好 嗨 哈喽 早上好 下午好 晚上好 早安 在吗 你好吗
        hi hello hey good_morning good_evening good_afternoon how_are_you""",
    "thanks": "谢谢 谢谢你 多谢 辛苦了 thanks thank_you cheers",
    "weather": "天气 天气预报 下雨 下雪 weather rain snow",
    "about": "你是谁 你会什么 你能做什么 who_are_you what_can_you_do",
    "goodbye": "再见 拜拜 晚安 bye goodbye good_night",
}

CHATTER = """? ~ 明天 这里 怎么样 如何 什么 会 吗 呀 啊 呢 what's what is how how's will it like there
    so much very a_lot tomorrow of here you"""
"""Fine beside a topic of TALK, never in an expense."""

CURRENCIES = {
    "CNY": "¥ cny rmb yuan 元 圆 块钱 块 人民币",
    "USD": "$ us$ usd dollar 美元 美金",
    "EUR": "€ eur euro 欧元",
    "GBP": "£ gbp pound 英镑",
    "JPY": "jpy yen 日元 円",
    "HKD": "hk$ hkd 港币 港元",
}
